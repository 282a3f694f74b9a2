import TransferIO
import TransferKeys
import TransferModel
import TransferSealing
import TransferSystem

/// What comes before a push whose uploads are sealed.
extension TransferClient {
    /// Asks the server for the keys of the recipients, and compares them with those that are known.
    ///
    /// - Parameter tell: gets sentences that people should see.
    /// - Throws: `TransferFailure` when there is not a key for each, or one that is not known.
    func prepareSealing(
        for names: [String], _ tell: @escaping @Sendable (String) -> Void
    ) async throws(TransferFailure) -> SealedPush {
        guard let identity = sealing else { throw .noSealingKey }
        guard !names.isEmpty else { throw .nobodyToSealFor }
        let people = try await ask(isAboutItself: false)
        var certificates: [(name: String, list: [SealingCertificate])] = []
        // All of them before anything is kept of any.
        for name in names {
            certificates.append((name, try people.certificates(of: name, "Nothing was sent.")))
        }
        let wanted = certificates
        let admitted = await pool.run {
            identity.states.sweep()
            return Result { () throws(TransferFailure) in try identity.admit(wanted, on: people.server, tell) }
        }
        let recipients = try admitted.get()
        guard recipients.count < SealedHeader.mostRecipients else { throw .tooManyToSealFor }
        return SealedPush(
            identity, server: people.server.map { "\($0)" } ?? server.server, names: names, recipients)
    }
}

extension SealingIdentity {
    /// - Returns: each key once.
    fileprivate func admit(
        _ certificates: [(name: String, list: [SealingCertificate])], on server: KeyFingerprint?,
        _ tell: (String) -> Void
    ) throws(TransferFailure) -> [SealingRecipient] {
        var recipients: [SealingRecipient] = []
        for (name, list) in certificates {
            do throws(KnownPeople.Fault) {
                let (admitted, sightings) = try people.admit(list, of: name, on: server)
                for sighting in sightings { tell(sighting.sentence) }
                for certificate in admitted where !recipients.contains(certificate.recipient) {
                    recipients.append(certificate.recipient)
                }
            } catch {
                throw TransferFailure(reason: .untrusted, message: error.message)
            }
        }
        return recipients
    }
}

extension TransferFailure {
    static let noSealingKey = TransferFailure(
        reason: .untrusted,
        message: "Without a key of this user's own nothing can be sealed: see 'transfer key'. Nothing was sent.")

    fileprivate static let nobodyToSealFor = TransferFailure(
        reason: .unsupported, message: "What is sealed is for somebody, and there is nobody. Nothing was sent.")

    fileprivate static let tooManyToSealFor = TransferFailure(
        reason: .unsupported,
        message: "There are too many keys to seal for; \(SealedHeader.mostRecipients - 1) do. Nothing was sent.")
}
