// SPDX-License-Identifier: UNLICENSED
pragma solidity 0.8.37;

/// Looks like the dollar token and is worth nothing: the same names, decimals, functions and events, and neither
/// balances nor signatures behind them.
///
/// A service that finds an authorization by its event alone, and does not look at which contract told of it, takes
/// this for money.
contract CopycatToken {
    string public name;
    string public symbol = "USDC";
    string public version;
    uint8 public constant decimals = 6;
    string public constant currency = "USD";
    uint256 public constant totalSupply = type(uint128).max;

    event Transfer(address indexed from, address indexed to, uint256 value);
    event AuthorizationUsed(address indexed authorizer, bytes32 indexed nonce);

    constructor(string memory tokenName, string memory domainVersion) {
        name = tokenName;
        version = domainVersion;
    }

    function balanceOf(address) external pure returns (uint256) {
        return totalSupply;
    }

    function authorizationState(address, bytes32) external pure returns (bool) {
        return true;
    }

    /// Tells of a transfer that nobody made.
    function pretend(address from, address to, uint256 value) external {
        emit Transfer(from, to, value);
    }

    /// Tells that an authorization was used, and moves nothing.
    function claim(address authorizer, bytes32 nonce) external {
        emit AuthorizationUsed(authorizer, nonce);
    }

    function transferWithAuthorization(
        address from,
        address to,
        uint256 value,
        uint256,
        uint256,
        bytes32 nonce,
        uint8,
        bytes32,
        bytes32
    ) external {
        _tell(from, to, value, nonce);
    }

    function transferWithAuthorization(
        address from,
        address to,
        uint256 value,
        uint256,
        uint256,
        bytes32 nonce,
        bytes memory
    ) external {
        _tell(from, to, value, nonce);
    }

    function _tell(address from, address to, uint256 value, bytes32 nonce) private {
        emit AuthorizationUsed(from, nonce);
        emit Transfer(from, to, value);
    }
}
