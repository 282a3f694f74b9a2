import TransferKeys
import TransferModel
import TransferProtocol
import TransferSealing
import TransferSystem

/// Opens the notes of sealed deliveries, and checks that their expected senders have signed them.
final class NoteReader: Sendable {
    /// Who must have signed a note.
    enum Signer: Sendable {
        /// The person that the server names as the sender. If no key of the person is known, the key that has signed
        /// becomes known, and `met` is called.
        case person(met: @Sendable (_ name: String, KeyFingerprint) -> Void)
        /// The same, but no key becomes known.
        case personInPassing
        /// This client itself, with its own key.
        case oneself
    }

    /// A key that has signed in a person's name.
    private struct Claim: Hashable {
        let name: PathKey
        let key: PublicKey
    }

    private struct State {
        var server: KeyFingerprint?
        /// Claims that were found to be right, so that the file with the known keys is not read again for each of
        /// thousands of deliveries.
        var right: Set<Claim> = []
        /// The version of that file when the claims were checked: another program may have changed it since.
        var file: FileIdentity?

        mutating func isRight(_ claim: Claim, now: FileIdentity?) -> Bool {
            if file != now { (right, file) = ([], now) }
            return right.contains(claim)
        }
    }

    private let identity: SealingIdentity?
    private let signer: Signer
    private let state = Locked(State())

    /// Bounds the claims that are remembered: a server may name any number of senders.
    private static let mostClaims = 1024

    /// - Parameter identity: nil for a client that cannot open anything.
    init(_ identity: SealingIdentity?, by signer: Signer) {
        (self.identity, self.signer) = (identity, signer)
    }

    /// Sets the server that deliveries come from: people are known by their names on a server.
    func connected(_ proven: ProvenServer) {
        let server = proven.fingerprint
        state.withLock { state in
            if state.server != server { state.right = [] }
            state.server = server
        }
    }

    /// The key that opens content; nil if nothing can be opened.
    var key: SealingKey? { identity?.sealing }

    /// The delivery with the details that its note gives, or with the reason why the note could not be opened. Reads
    /// files.
    func read(_ delivery: Delivery) -> Delivery {
        guard let note = delivery.note else { return delivery }
        var read = delivery
        do throws(Failure) {
            read.opened = try opened(note, from: delivery.person)
        } catch {
            read.closed = error
        }
        return read
    }

    private func opened(_ bytes: [UInt8], from person: String) throws(Failure) -> DeliveryNote {
        guard let identity else { throw .noSealingKey }
        let note: SealedNote
        do throws(SealingError) {
            note = try SealedNote(opening: bytes, with: [identity.sealing])
        } catch {
            throw .unopened(error, "Its note")
        }
        let claim = Claim(name: PathKey(person), key: note.sender)
        let now = identity.people.version
        let (isRight, server) = state.withLock { ($0.isRight(claim, now: now), $0.server) }
        if !isRight {
            try check(note.sender, person, identity, on: server)
            state.withLock { if $0.right.count < Self.mostClaims { $0.right.insert(claim) } }
        }
        return DeliveryNote(note, on: server)
    }

    private func check(
        _ key: PublicKey, _ name: String, _ identity: SealingIdentity, on server: KeyFingerprint?
    ) throws(Failure) {
        let fingerprint = KeyFingerprint(of: key)
        do throws(KnownPeople.Fault) {
            switch signer {
            case .person(let met):
                let seen = try identity.people.check(signer: key, named: name, on: server)
                if case .first = seen { met(name, fingerprint) }
                return
            case .personInPassing:
                let known = try identity.people.entries(of: name, on: server)
                if known.isEmpty || known.contains(where: { $0.identity == fingerprint }) { return }
            case .oneself:
                if key == identity.key.key { return }
            }
        } catch {
            throw Failure(error.reason == .otherKey ? .wrongSigner : .unopened, error.message)
        }
        let whom = if case .oneself = signer { "this client" } else { name.escapedForDisplay }
        throw Failure(
            .wrongSigner, "Its note is signed by \(fingerprint), which is not a known key of \(whom).")
    }
}

extension Failure {
    static let noSealingKey = Failure(
        .unopened, "It is sealed, and this client has no key that could open it.")

    /// - Parameter what: the subject that begins the sentence.
    static func unopened(_ error: SealingError, _ what: String) -> Failure {
        Failure(.unopened, "\(what) cannot be opened. \(error.message)")
    }
}
