import TransferKeys
import TransferModel
import TransferProtocol
import TransferSealing
import TransferSystem

/// Opens the notes of sealed deliveries, and compares who has signed them with who should have.
final class NoteReader: Sendable {
    /// Who has to have signed.
    enum Signer: Sendable {
        /// Whoever is known by the name of the person that the delivery is from. Who is seen for the first time is known from
        /// then on, and told.
        case person(met: @Sendable (_ name: String, KeyFingerprint) -> Void)
        /// The same, but nobody becomes known.
        case personInPassing
        /// This client itself.
        case oneself
    }

    /// A key that has signed in somebody's name.
    private struct Claim: Hashable {
        let name: PathKey
        let key: PublicKey
    }

    private struct State {
        var server: KeyFingerprint?
        /// What was found to be right: deliveries come by the thousand, and what is known of people is in a file.
        var right: Set<Claim> = []
        /// That file, as it was then: another program may have changed what is known.
        var file: FileIdentity?

        mutating func isRight(_ claim: Claim, now: FileIdentity?) -> Bool {
            if file != now { (right, file) = ([], now) }
            return right.contains(claim)
        }
    }

    private let identity: SealingIdentity?
    private let signer: Signer
    private let state = Locked(State())

    /// Claims that are remembered: a server names as many senders as it likes.
    private static let mostClaims = 1024

    /// - Parameter identity: nothing for a client that can open nothing.
    init(_ identity: SealingIdentity?, by signer: Signer) {
        (self.identity, self.signer) = (identity, signer)
    }

    /// What deliveries come from: people are known by their names on a server.
    func connected(_ proven: ProvenServer) {
        let server = proven.fingerprint
        state.withLock { state in
            if state.server != server { state.right = [] }
            state.server = server
        }
    }

    /// What opens content; nothing where nothing can be opened.
    var key: SealingKey? { identity?.sealing }

    /// The same delivery with what its note says, if it has one. Reads files.
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
            .wrongSigner, "Its note is signed by \(fingerprint), which is not known of \(whom).")
    }
}

extension Failure {
    static let noSealingKey = Failure(
        .unopened, "It is sealed, and this client has no key of its own that could open it.")

    /// - Parameter what: begins the sentence.
    static func unopened(_ error: SealingError, _ what: String) -> Failure {
        Failure(.unopened, "\(what) cannot be opened. \(error.message)")
    }
}
