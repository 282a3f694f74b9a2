import TransferCodec
import TransferHTTP
import TransferIO
import TransferModel
import TransferReceipts
import TransferPorts
import TransferSystem

/// Reads a file, some of it in each turn, to compute the digest that a client wants in the head of the answer. Then the successor answers.
/// Used by one task at a time.
final class HTTPDigesting: HTTPAnswer {
    private enum Hasher {
        case sha256(BlockHasher)
        case sha512(LongHasher)

        init(_ algorithm: HTTPDigestAlgorithm) {
            switch algorithm {
            case .sha256: self = .sha256(BlockHasher(.sha256))
            case .sha512: self = .sha512(LongHasher())
            }
        }

        func update(_ bytes: UnsafeRawBufferPointer) {
            switch self {
            case .sha256(let hasher): hasher.update(bytes)
            case .sha512(let hasher): hasher.update(bytes)
            }
        }

        func finish() -> [UInt8] {
            switch self {
            case .sha256(let hasher): hasher.finish()
            case .sha512(let hasher): hasher.finish()
            }
        }
    }

    /// Bytes that are read in one turn: some milliseconds of a thread.
    private static let step: UInt64 = 8 << 20

    /// Bytes that are read at once.
    private static let piece = 256 << 10

    let path: String
    let headComesFirst = false
    private(set) var successor: (any HTTPAnswer)?
    private let content: any ReadableContent
    private let algorithm: HTTPDigestAlgorithm
    private let hasher: Hasher
    private let digests: ReprDigests
    private let makeSuccessor: ([(String, String)]) -> HTTPSending
    private var offset: UInt64 = 0

    /// - Parameter successor: makes the answer; its argument is fields with the digest.
    init(
        _ path: String, _ content: any ReadableContent, _ algorithm: HTTPDigestAlgorithm, _ digests: ReprDigests,
        then successor: @escaping ([(String, String)]) -> HTTPSending
    ) {
        (self.path, self.content, self.algorithm, self.digests) = (path, content, algorithm, digests)
        (hasher, makeSuccessor) = (Hasher(algorithm), successor)
        content.expectAll()
    }

    /// Never sent, because the successor has the head.
    func head(isLast: Bool) -> [UInt8] { [] }

    func fill(_ outcome: inout HTTPOutcome, from pool: BufferPool) throws(Failure) -> Bool {
        let size = content.attributes.size
        let end = min(size, offset.addingClamped(Self.step))
        try read(upTo: end)
        guard end == size else {
            outcome.rest()
            return false
        }
        guard content.isUnchanged else { throw changed }
        let digest = hasher.finish()
        digests.add(digest, algorithm, of: content.attributes.version)
        successor = makeSuccessor([("Repr-Digest", DigestField(digest, algorithm).text)])
        return true
    }

    private func read(upTo end: UInt64) throws(Failure) {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: Self.piece, alignment: 64)
        defer { buffer.deallocate() }
        while offset < end {
            let count = Int(min(UInt64(Self.piece), end - offset))
            let place = UnsafeMutableRawBufferPointer(rebasing: buffer[..<count])
            guard try content.read(into: place, at: offset) == count else { throw changed }
            hasher.update(UnsafeRawBufferPointer(place))
            offset += UInt64(count)
        }
    }

    private var changed: Failure {
        Failure(.fileChanged, "\(path.escapedForDisplay) changed while it was read.")
    }

    func events(peer: String) -> [LogEvent] { [] }
}

/// Digests of stored files that clients have requested, so that later requests need no reading. They are stored by version, so a changed
/// file never gets an old digest.
final class ReprDigests: Sendable {
    private struct Key: Hashable {
        let version: ContentVersion
        let algorithm: HTTPDigestAlgorithm
    }

    private struct State {
        var digests: [Key: [UInt8]] = [:]
        /// Keys in the order of insertion, as a ring.
        var keys: [Key] = []
        /// Index of the key that is replaced next.
        var oldest = 0
    }

    /// Most digests that are kept; they need less than 1 MiB.
    private static let most = 4096

    private let state = Locked(State())

    func find(_ version: ContentVersion, _ algorithm: HTTPDigestAlgorithm) -> DigestField? {
        let digest = state.withLock { $0.digests[Key(version: version, algorithm: algorithm)] }
        return digest.map { DigestField($0, algorithm) }
    }

    func add(_ digest: [UInt8], _ algorithm: HTTPDigestAlgorithm, of version: ContentVersion) {
        let key = Key(version: version, algorithm: algorithm)
        state.withLock { state in
            guard state.digests.updateValue(digest, forKey: key) == nil else { return }
            guard state.keys.count == Self.most else { return state.keys.append(key) }
            state.digests[state.keys[state.oldest]] = nil
            state.keys[state.oldest] = key
            state.oldest = (state.oldest + 1) % Self.most
        }
    }
}

extension DigestField {
    init(_ digest: [UInt8], _ algorithm: HTTPDigestAlgorithm) {
        switch algorithm {
        case .sha256: self.init(sha256: digest)
        case .sha512: self.init(sha512: digest)
        }
    }
}
