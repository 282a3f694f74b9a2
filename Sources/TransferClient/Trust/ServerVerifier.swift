import TransferIO
import TransferKeys
import TransferSystem

/// Decides for all connections of a client whether they lead to the right server.
final class ServerVerifier: Sendable {
    /// Why a server was not trusted.
    enum Refusal: Sendable, Equatable {
        /// The key is unknown; the user may accept it.
        case unknown(UnknownServer)
        /// A sentence for people that says what to do.
        case wrong(String)
    }

    private struct State {
        /// The key from the list, or one that the user has accepted.
        var known: KeyFingerprint?
        /// An accepted key that is to be kept once the server has proved that it has the key.
        var toBeKept: KeyFingerprint?
        var refusal: Refusal?
    }

    private let trust: ServerTrust
    private let address: String
    private let state = Locked(State())

    init(_ trust: ServerTrust, address: String) {
        self.trust = trust
        self.address = address
    }

    /// Reads the known key. Blocks.
    func prepare() throws(KnownServers.Fault) {
        guard trust.key == nil || trust.keepsKey, let fingerprint = try trust.known?.fingerprint(of: address) else {
            return
        }
        state.withLock { $0.known = fingerprint }
    }

    /// Reads the list again after a server was refused as unknown. Another command may have added the server meanwhile,
    /// or the server may have added itself, which it does only after it has opened its port. Blocks.
    ///
    /// - Returns: whether the list has a key for the address by now; another attempt then uses that key.
    func isListedByNow() -> Bool {
        try? prepare()
        return state.withLock { $0.known != nil }
    }

    /// Whether the server is trusted because of its own key, and not because of a certificate's issuer.
    var isByKey: Bool {
        if case .trust = trust.firstContact { return true }
        return trust.key != nil || state.withLock { $0.known != nil }
    }

    /// Why the latest server was not trusted; nil if it was.
    var refusal: Refusal? { state.withLock { $0.refusal } }

    /// Judges the key of a server, as `TLSJudge`.
    func judge(_ key: TLSKey, _ check: () -> TLSProblem?) -> Bool {
        let fingerprint = KeyFingerprint(of: key.bytes)
        let known = state.withLock { $0.known }
        let refusal = refusal(of: fingerprint, known: known, check)
        state.withLock { $0.refusal = refusal }
        return refusal == nil
    }

    private func refusal(of key: KeyFingerprint, known: KeyFingerprint?, _ check: () -> TLSProblem?) -> Refusal? {
        if let wanted = trust.key, key != wanted { return .wrong(otherKey(key, wanted: wanted)) }
        if trust.key == nil, let known, key != known { return .wrong(changedKey(key, known: known)) }
        if let announced = trust.announced, key != announced { return .wrong(otherKey(key, announced: announced)) }
        if trust.key != nil {
            if trust.keepsKey, known != key { accept(key) }
            return nil
        }
        if known != nil { return nil }
        switch check() {
        case nil: return nil
        case .unknownIssuer?:
            guard case .trust = trust.firstContact else {
                return .unknown(UnknownServer(address: address, fingerprint: key))
            }
            accept(key)
            return nil
        case let problem?: return .wrong(Self.sentence(problem, address, key))
        }
    }

    /// Trusts the key: from now on it is the only one for the address.
    func accept(_ key: KeyFingerprint) {
        state.withLock { state in
            state.known = key
            state.toBeKept = key
        }
    }

    /// Whether there is an accepted key to be kept.
    var hasNews: Bool { state.withLock { $0.toBeKept != nil } }

    /// Adds the accepted key to the list; the server has proved that it has the key. Blocks.
    func keep() throws(KnownServers.Fault) {
        guard let key = state.withLock({ $0.toBeKept.take() }) else { return }
        try trust.known?.add(KnownServers.Entry(address: address, fingerprint: key))
    }
}

// MARK: Sentences

extension ServerVerifier {
    private func otherKey(_ key: KeyFingerprint, wanted: KeyFingerprint) -> String {
        "The server \(address) shows the key \(key), not \(wanted). Either the fingerprint is wrong, "
            + "or another server answers in its place. Nothing was sent."
    }

    private func otherKey(_ key: KeyFingerprint, announced: KeyFingerprint) -> String {
        "The server \(address) shows the key \(key), but the answer to the search announced "
            + "\(announced). An attacker may have copied the answer of another server, or answered in its "
            + "place. Nothing was sent. Give the address of the server that you mean."
    }

    private func changedKey(_ key: KeyFingerprint, known: KeyFingerprint) -> String {
        """
        THE KEY OF THE SERVER \(address) HAS CHANGED. An attacker may be answering in its place to read what you \
        send, or the server was set up anew. Known is \(known), shown was \(key). Nothing was sent. Ask the server's \
        operator for its fingerprint; if it is the new one, run 'transfer trust remove \(address)' and push again.
        """
    }

    private static func sentence(_ problem: TLSProblem, _ address: String, _ key: KeyFingerprint) -> String {
        let what =
            switch problem {
            case .expired: "The certificate of the server \(address) has expired."
            case .notYetValid:
                "The certificate of the server \(address) is not valid yet, or the clock of this machine is wrong."
            case .wrongName: "The certificate of the server \(address) is for another name."
            case .unknownIssuer: "No trusted authority has signed the certificate of the server \(address)."
            case .other(let words): "The certificate of the server \(address) cannot be trusted: \(words)."
            }
        return what
            + " Nothing was sent. The server's operator has to replace the certificate; if you know that "
            + "its key is \(key), push with --server-key and this key."
    }
}
