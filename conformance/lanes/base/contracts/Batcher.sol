// SPDX-License-Identifier: UNLICENSED
pragma solidity 0.8.37;

/// Carries out any list of calls in one transaction, for its owner, all or none.
///
/// With it several authorizations are used in one transaction, and transfers of other makes stand among their events.
contract Batcher {
    struct Call {
        address to;
        bytes data;
    }

    address public immutable owner = msg.sender;

    function run(Call[] calldata calls) external {
        require(msg.sender == owner, "Batcher: caller is not the owner");
        for (uint256 i = 0; i < calls.length; i++) {
            (bool done, bytes memory answer) = calls[i].to.call(calls[i].data);
            if (!done) {
                assembly ("memory-safe") {
                    revert(add(answer, 32), mload(answer))
                }
            }
        }
    }
}
