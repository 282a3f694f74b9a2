package import TransferKeys
import TransferModel

extension TransferClient {
    /// Takes the key that a sealed delivery is signed with for its sender's, where none is known. Reads and writes a file.
    ///
    /// - Parameter delivery: as this client has listed it.
    /// - Returns: the key, when it was seen for the first time.
    /// - Throws: `TransferFailure`, `rejected` when the note cannot be opened, or others are known.
    package func meet(_ delivery: Delivery) throws(TransferFailure) -> KeyFingerprint? {
        guard delivery.isSealed else { return nil }
        guard let note = delivery.opened, let identity = requestContext.configuration.sealing else {
            let failure = delivery.closed ?? .noSealingKey
            throw TransferFailure(reason: .rejected(failure.code), message: failure.message)
        }
        do throws(KnownPeople.Fault) {
            let seen = try identity.people.check(signer: note.signer, named: delivery.person, on: note.server)
            return if case .first = seen { KeyFingerprint(of: note.signer) } else { nil }
        } catch {
            let code: ResultCode = error.reason == .otherKey ? .wrongSigner : .unopened
            throw TransferFailure(reason: .rejected(code), message: error.message)
        }
    }
}
