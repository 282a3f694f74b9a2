import TransferHTTP
import TransferModel
import TransferSystem

/// Digests of stored files that somebody has asked for, so that asking again costs no reading. By the versions of files: what is
/// changed is another one.
final class ReprDigests: Sendable {
    private struct Key: Hashable {
        let version: ContentVersion
        let algorithm: HTTPDigestAlgorithm
    }

    private struct State {
        var digests: [Key: [UInt8]] = [:]
        /// In the order in which they came.
        var keys: [Key] = []
        /// Which of the keys goes next.
        var oldest = 0
    }

    /// Digests that are kept: less than 1 MiB.
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
