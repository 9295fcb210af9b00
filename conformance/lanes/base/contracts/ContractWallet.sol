// SPDX-License-Identifier: UNLICENSED
pragma solidity 0.8.37;

/// A payer that is a contract (ERC-1271): it stands by what its owner signs, until the owner tells it not to.
contract ContractWallet {
    address public immutable owner = msg.sender;
    bool public silent;

    bytes4 private constant AGREES = 0x1626ba7e;

    function isValidSignature(bytes32 digest, bytes calldata signature) external view returns (bytes4) {
        if (silent || signature.length != 65) return 0xffffffff;
        bytes32 r = bytes32(signature[:32]);
        bytes32 s = bytes32(signature[32:64]);
        return ecrecover(digest, uint8(signature[64]), r, s) == owner ? AGREES : bytes4(0xffffffff);
    }

    /// From now on agree with nothing, or with the owner again.
    function hush(bool now_) external {
        require(msg.sender == owner, "ContractWallet: caller is not the owner");
        silent = now_;
    }
}
