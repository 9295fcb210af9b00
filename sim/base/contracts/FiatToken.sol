// SPDX-License-Identifier: UNLICENSED
pragma solidity 0.8.37;

/// The answer a contract wallet gives about a signature (ERC-1271).
interface IContractWallet {
    function isValidSignature(bytes32 digest, bytes calldata signature) external view returns (bytes4);
}

/// A dollar token with the face of Circle's FiatToken 2.2: ERC-20, EIP-3009 with both overloads, EIP-712, ERC-1271
/// signers, black list, pause, minting. Order of the checks, texts of the refusals and order of the events are those
/// of the deployed token, because services are written against them.
///
/// Nothing is set by a constructor and nothing is immutable, so that the runtime code can be planted at any address
/// and be initialised there, once. One address holds every office: minter, pauser and black-lister. Left out of the
/// original's face: permit, burning, minters' allowances, offices that change hands.
contract FiatToken {
    string public name;
    string public symbol;
    string public version;
    uint8 public decimals;
    bool public initialized;
    bool public paused;
    address public operator;
    uint256 public totalSupply;

    mapping(address => uint256) public balanceOf;
    mapping(address => mapping(address => uint256)) public allowance;
    mapping(address => bool) public isBlacklisted;
    mapping(address => mapping(bytes32 => bool)) public authorizationState;

    string public constant currency = "USD";

    bytes32 public constant TRANSFER_WITH_AUTHORIZATION_TYPEHASH = keccak256(
        "TransferWithAuthorization(address from,address to,uint256 value,uint256 validAfter,uint256 validBefore,bytes32 nonce)"
    );
    bytes32 public constant RECEIVE_WITH_AUTHORIZATION_TYPEHASH = keccak256(
        "ReceiveWithAuthorization(address from,address to,uint256 value,uint256 validAfter,uint256 validBefore,bytes32 nonce)"
    );
    bytes32 public constant CANCEL_AUTHORIZATION_TYPEHASH =
        keccak256("CancelAuthorization(address authorizer,bytes32 nonce)");

    bytes32 private constant DOMAIN_TYPEHASH =
        keccak256("EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)");
    /// Half of the order of secp256k1: a signature whose s lies above it has a twin below.
    uint256 private constant HALF_ORDER = 0x7FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF5D576E7357A4501DDFE92F46681B20A0;

    event Transfer(address indexed from, address indexed to, uint256 value);
    event Approval(address indexed owner, address indexed spender, uint256 value);
    event AuthorizationUsed(address indexed authorizer, bytes32 indexed nonce);
    event AuthorizationCanceled(address indexed authorizer, bytes32 indexed nonce);
    event Mint(address indexed minter, address indexed to, uint256 amount);
    event Blacklisted(address indexed _account);
    event UnBlacklisted(address indexed _account);
    event Pause();
    event Unpause();

    /// What all three acts on an authorization have in common.
    struct Authorization {
        bytes32 kind;
        address from;
        address to;
        uint256 value;
        uint256 validAfter;
        uint256 validBefore;
        bytes32 nonce;
    }

    modifier whenNotPaused() {
        require(!paused, "Pausable: paused");
        _;
    }

    modifier notBlacklisted(address account) {
        require(!isBlacklisted[account], "Blacklistable: account is blacklisted");
        _;
    }

    modifier byOperator(string memory refusal) {
        require(msg.sender == operator, refusal);
        _;
    }

    function initialize(
        string calldata tokenName,
        string calldata tokenSymbol,
        string calldata domainVersion,
        uint8 tokenDecimals,
        address tokenOperator
    ) external {
        require(!initialized, "FiatToken: contract is already initialized");
        require(tokenOperator != address(0), "FiatToken: new masterMinter is the zero address");
        initialized = true;
        name = tokenName;
        symbol = tokenSymbol;
        version = domainVersion;
        decimals = tokenDecimals;
        operator = tokenOperator;
        isBlacklisted[address(this)] = true; // so that nobody sends dollars to the token itself by mistake
    }

    // Offices.

    function mint(address to, uint256 amount)
        external
        whenNotPaused
        byOperator("FiatToken: caller is not a minter")
        notBlacklisted(msg.sender)
        notBlacklisted(to)
        returns (bool)
    {
        require(to != address(0), "FiatToken: mint to the zero address");
        require(amount > 0, "FiatToken: mint amount not greater than 0");
        totalSupply = _sum(totalSupply, amount);
        _credit(to, amount);
        emit Mint(msg.sender, to, amount);
        emit Transfer(address(0), to, amount);
        return true;
    }

    function blacklist(address account) external byOperator("Blacklistable: caller is not the blacklister") {
        isBlacklisted[account] = true;
        emit Blacklisted(account);
    }

    function unBlacklist(address account) external byOperator("Blacklistable: caller is not the blacklister") {
        isBlacklisted[account] = false;
        emit UnBlacklisted(account);
    }

    function pause() external byOperator("Pausable: caller is not the pauser") {
        paused = true;
        emit Pause();
    }

    function unpause() external byOperator("Pausable: caller is not the pauser") {
        paused = false;
        emit Unpause();
    }

    // ERC-20.

    function transfer(address to, uint256 value)
        external
        whenNotPaused
        notBlacklisted(msg.sender)
        notBlacklisted(to)
        returns (bool)
    {
        _transfer(msg.sender, to, value);
        return true;
    }

    function transferFrom(address from, address to, uint256 value)
        external
        whenNotPaused
        notBlacklisted(msg.sender)
        notBlacklisted(from)
        notBlacklisted(to)
        returns (bool)
    {
        uint256 allowed = allowance[from][msg.sender];
        require(value <= allowed, "ERC20: transfer amount exceeds allowance");
        _transfer(from, to, value);
        allowance[from][msg.sender] = allowed - value; // also where everything is allowed
        return true;
    }

    function approve(address spender, uint256 value) external whenNotPaused returns (bool) {
        _approve(msg.sender, spender, value);
        return true;
    }

    function increaseAllowance(address spender, uint256 increment) external whenNotPaused returns (bool) {
        _approve(msg.sender, spender, _sum(allowance[msg.sender][spender], increment));
        return true;
    }

    function decreaseAllowance(address spender, uint256 decrement) external whenNotPaused returns (bool) {
        uint256 allowed = allowance[msg.sender][spender];
        require(decrement <= allowed, "ERC20: decreased allowance below zero");
        _approve(msg.sender, spender, allowed - decrement);
        return true;
    }

    // EIP-3009.

    function transferWithAuthorization(
        address from,
        address to,
        uint256 value,
        uint256 validAfter,
        uint256 validBefore,
        bytes32 nonce,
        uint8 v,
        bytes32 r,
        bytes32 s
    ) external {
        _use(
            Authorization(TRANSFER_WITH_AUTHORIZATION_TYPEHASH, from, to, value, validAfter, validBefore, nonce),
            abi.encodePacked(r, s, v)
        );
    }

    function transferWithAuthorization(
        address from,
        address to,
        uint256 value,
        uint256 validAfter,
        uint256 validBefore,
        bytes32 nonce,
        bytes memory signature
    ) external {
        _use(
            Authorization(TRANSFER_WITH_AUTHORIZATION_TYPEHASH, from, to, value, validAfter, validBefore, nonce),
            signature
        );
    }

    function receiveWithAuthorization(
        address from,
        address to,
        uint256 value,
        uint256 validAfter,
        uint256 validBefore,
        bytes32 nonce,
        uint8 v,
        bytes32 r,
        bytes32 s
    ) external {
        _receive(
            Authorization(RECEIVE_WITH_AUTHORIZATION_TYPEHASH, from, to, value, validAfter, validBefore, nonce),
            abi.encodePacked(r, s, v)
        );
    }

    function receiveWithAuthorization(
        address from,
        address to,
        uint256 value,
        uint256 validAfter,
        uint256 validBefore,
        bytes32 nonce,
        bytes memory signature
    ) external {
        _receive(
            Authorization(RECEIVE_WITH_AUTHORIZATION_TYPEHASH, from, to, value, validAfter, validBefore, nonce),
            signature
        );
    }

    function cancelAuthorization(address authorizer, bytes32 nonce, uint8 v, bytes32 r, bytes32 s) external {
        _cancel(authorizer, nonce, abi.encodePacked(r, s, v));
    }

    function cancelAuthorization(address authorizer, bytes32 nonce, bytes memory signature) external {
        _cancel(authorizer, nonce, signature);
    }

    /// The EIP-712 domain of this very code at this very address on this very chain.
    function DOMAIN_SEPARATOR() public view returns (bytes32) {
        return keccak256(
            abi.encode(
                DOMAIN_TYPEHASH, keccak256(bytes(name)), keccak256(bytes(version)), block.chainid, address(this)
            )
        );
    }

    function _receive(Authorization memory given, bytes memory signature)
        private
        whenNotPaused
        notBlacklisted(given.from)
        notBlacklisted(given.to)
    {
        require(given.to == msg.sender, "FiatTokenV2: caller must be the payee");
        _use(given, signature);
    }

    function _use(Authorization memory given, bytes memory signature)
        private
        whenNotPaused
        notBlacklisted(given.from)
        notBlacklisted(given.to)
    {
        require(block.timestamp > given.validAfter, "FiatTokenV2: authorization is not yet valid");
        require(block.timestamp < given.validBefore, "FiatTokenV2: authorization is expired");
        _requireUnused(given.from, given.nonce);
        // A struct of value types is encoded as the sequence of its members, which is the EIP-712 encoding.
        _requireSigned(given.from, keccak256(abi.encode(given)), signature);
        authorizationState[given.from][given.nonce] = true;
        emit AuthorizationUsed(given.from, given.nonce);
        _transfer(given.from, given.to, given.value);
    }

    function _cancel(address authorizer, bytes32 nonce, bytes memory signature) private whenNotPaused {
        _requireUnused(authorizer, nonce);
        _requireSigned(authorizer, keccak256(abi.encode(CANCEL_AUTHORIZATION_TYPEHASH, authorizer, nonce)), signature);
        authorizationState[authorizer][nonce] = true;
        emit AuthorizationCanceled(authorizer, nonce);
    }

    function _requireUnused(address authorizer, bytes32 nonce) private view {
        require(!authorizationState[authorizer][nonce], "FiatTokenV2: authorization is used or canceled");
    }

    function _requireSigned(address signer, bytes32 structHash, bytes memory signature) private view {
        bytes32 digest = keccak256(abi.encodePacked(bytes2(0x1901), DOMAIN_SEPARATOR(), structHash));
        bool signed = signer.code.length == 0
            ? _recover(digest, signature) == signer
            : _walletAgrees(signer, digest, signature);
        require(signed, "FiatTokenV2: invalid signature");
    }

    function _recover(bytes32 digest, bytes memory signature) private pure returns (address signer) {
        require(signature.length == 65, "ECRecover: invalid signature length");
        bytes32 r;
        bytes32 s;
        uint8 v;
        assembly ("memory-safe") {
            r := mload(add(signature, 32))
            s := mload(add(signature, 64))
            v := byte(0, mload(add(signature, 96)))
        }
        require(uint256(s) <= HALF_ORDER, "ECRecover: invalid signature 's' value");
        require(v == 27 || v == 28, "ECRecover: invalid signature 'v' value");
        signer = ecrecover(digest, v, r, s);
        require(signer != address(0), "ECRecover: invalid signature");
    }

    function _walletAgrees(address wallet, bytes32 digest, bytes memory signature) private view returns (bool) {
        (bool answered, bytes memory answer) =
            wallet.staticcall(abi.encodeCall(IContractWallet.isValidSignature, (digest, signature)));
        return answered && answer.length >= 32
            && abi.decode(answer, (bytes32)) == bytes32(IContractWallet.isValidSignature.selector);
    }

    function _approve(address owner, address spender, uint256 value) private {
        require(owner != address(0), "ERC20: approve from the zero address");
        require(spender != address(0), "ERC20: approve to the zero address");
        allowance[owner][spender] = value;
        emit Approval(owner, spender, value);
    }

    function _transfer(address from, address to, uint256 value) private {
        require(from != address(0), "ERC20: transfer from the zero address");
        require(to != address(0), "ERC20: transfer to the zero address");
        require(value <= balanceOf[from], "ERC20: transfer amount exceeds balance");
        balanceOf[from] -= value;
        _credit(to, value);
        emit Transfer(from, to, value);
    }

    /// The deployed token keeps the black list in a balance's highest bit, which limits balances.
    function _credit(address to, uint256 value) private {
        uint256 balance = _sum(balanceOf[to], value);
        require(balance <= uint256(type(int256).max), "FiatTokenV2_2: Balance exceeds (2^255 - 1)");
        balanceOf[to] = balance;
    }

    function _sum(uint256 one, uint256 other) private pure returns (uint256 sum) {
        unchecked {
            sum = one + other;
        }
        require(sum >= one, "SafeMath: addition overflow");
    }
}
