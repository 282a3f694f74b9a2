/// A hash function that the client chooses for an upload.
public enum DigestFunction: UInt8, Sendable, CaseIterable {
    /// XXH3 with 128 bits; detects accidents, not attacks.
    case xxh128 = 1
    /// SHA-256 (FIPS 180-4), which also resists attacks.
    case sha256 = 2

    /// Size of a digest in bytes.
    package var size: Int {
        switch self {
        case .xxh128: 16
        case .sha256: 32
        }
    }

    /// Whether it is infeasible to make two contents with the same digest. The server signs only such digests: with
    /// others, a signature would also be valid for content that the signer never had.
    package var isCollisionResistant: Bool { self == .sha256 }

    /// The algorithm for content of `size` bytes: plain up to one block, a tree beyond.
    package func algorithm(forSize size: UInt64) -> DigestAlgorithm {
        size > UInt64(Limits.blockSize) ? tree : plain
    }

    /// The algorithm over the bytes themselves.
    package var plain: DigestAlgorithm {
        switch self {
        case .xxh128: .xxh128
        case .sha256: .sha256
        }
    }

    /// The algorithm over the digests of blocks.
    package var tree: DigestAlgorithm {
        switch self {
        case .xxh128: .xxh128Tree
        case .sha256: .sha256Tree
        }
    }
}

/// The way a digest is computed: a hash function over the bytes themselves, or over the digests of 4 MiB blocks in
/// order.
public enum DigestAlgorithm: UInt8, Sendable, CaseIterable {
    /// XXH3-128 of the bytes (`xxhsum -H2`).
    case xxh128 = 1
    /// SHA-256 of the bytes (`sha256sum`).
    case sha256 = 2
    /// XXH3-128 of the XXH3-128 digests of the 4 MiB blocks.
    case xxh128Tree = 3
    /// SHA-256 of the SHA-256 digests of the 4 MiB blocks.
    case sha256Tree = 4

    /// The hash function of the algorithm.
    public var function: DigestFunction {
        switch self {
        case .xxh128, .xxh128Tree: .xxh128
        case .sha256, .sha256Tree: .sha256
        }
    }

    /// The stable name, which `description` writes before the digits.
    public var name: String {
        switch self {
        case .xxh128: "xxh128"
        case .sha256: "sha256"
        case .xxh128Tree: "xxh128-tree-4m"
        case .sha256Tree: "sha256-tree-4m"
        }
    }
}

/// A digest and its algorithm.
public struct Digest: Hashable, Sendable {
    /// The algorithm that computed it.
    public let algorithm: DigestAlgorithm

    /// 16 or 32 bytes, in the order in which `xxhsum` and `sha256sum` print them.
    public let bytes: [UInt8]

    package init(_ algorithm: DigestAlgorithm, _ bytes: [UInt8]) {
        // Trap: code that reads a digest from a peer or a file takes as many bytes as its algorithm has, and hash
        // functions return as many.
        precondition(bytes.count == algorithm.function.size, "a \(algorithm.name) digest of \(bytes.count) bytes")
        self.algorithm = algorithm
        self.bytes = bytes
    }

    /// The digits without the algorithm.
    public var hexadecimal: String { String(hexadecimal: bytes) }
}

extension Digest: CustomStringConvertible {
    /// Algorithm and digits, such as `xxh128:99aa06d3014798d86001c324468d497f`.
    public var description: String { "\(algorithm.name):\(hexadecimal)" }
}
