package import TransferKeys
import TransferModel
import TransferProtocol
package import TransferSealing

/// Keys that people publish, so that others can seal for them.
extension TransferClient {
    /// Who has a mailbox, and what the server that says so is known by.
    package struct People: Sendable {
        package let persons: [Person]
        package let server: KeyFingerprint?

        /// Names are compared byte by byte, as the server does.
        package func person(_ name: String) -> Person? { persons.first { $0.name.hasSameBytes(as: name) } }

        /// What there is to seal for somebody.
        ///
        /// - Parameter consequence: what comes of it when there is nothing: a sentence.
        /// - Throws: `rejected` when there is nobody of that name, or no key.
        package func certificates(
            of name: String, _ consequence: String = ""
        ) throws(TransferFailure) -> [SealingCertificate] {
            guard let person = person(name) else { throw .unknown(name, consequence) }
            let list = person.certificates
            guard !list.isEmpty else { throw .unpublished(name, consequence) }
            return list
        }
    }

    /// Has others know this client's key to seal for, unless the server has it.
    ///
    /// - Returns: whether it was published now; false also where this client has no key or no name.
    /// - Throws: `TransferFailure` when the server cannot be asked at all.
    @discardableResult
    public func introduce() async throws(TransferFailure) -> Bool {
        guard let identity = sealing else { return false }
        do throws(TransferFailure) {
            guard let itself = try await ask(isAboutItself: true).persons.first,
                let list = identity.introduction(to: itself.certificates)
            else { return false }
            try await ask(.introduce(IntroduceRequest(id: 0, sealingKey: list)))
            return true
        } catch {
            switch error.reason {
            // A server without mailboxes, or without a name for this client.
            case .unsupported, .rejected: return false
            default: throw error
            }
        }
    }

    /// Asks for something that is answered with nothing but an outcome.
    private func ask(_ request: Request) async throws(TransferFailure) {
        let events = EventQueue<Never>()
        let question = OutcomeQuestion(request)
        run(question.queue, events, resume: {}, failure: { question.failure })
        var iterator = RequestEvents(events).makeAsyncIterator()
        while try await iterator.next() != nil {}
    }
}

extension Person {
    /// The keys that are to be sealed for, as the server gives them: each signed by an identity, of which nobody but the
    /// server says that it is this person's.
    package var certificates: [SealingCertificate] { sealingKey.map { SealingCertificate.list($0) } ?? [] }
}

extension SealingIdentity {
    /// What to publish; nothing when that is done.
    ///
    /// - Parameter published: what there is of this person.
    func introduction(to published: [SealingCertificate]) -> [UInt8]? {
        let own = published.first { $0.owner == key.key }
        guard own?.recipient != sealing.recipient else { return nil }
        // Newer than the last one also where the clock was set back: an older one is refused by those who know that.
        let issued = max(UTCTime.now, own?.issued.advanced(bySeconds: 1) ?? .now)
        return SealingCertificate(sealing.recipient, by: key, at: issued).added(to: published)
    }
}

extension TransferFailure {
    fileprivate static func unknown(_ name: String, _ consequence: String) -> TransferFailure {
        TransferFailure(
            reason: .rejected(.unknownRecipient),
            message:
                "Nobody there is called '\(name.escapedForDisplay)'; 'transfer people' lists who is."
                + (consequence.isEmpty ? "" : " \(consequence)"))
    }

    fileprivate static func unpublished(_ name: String, _ consequence: String) -> TransferFailure {
        let name = name.escapedForDisplay
        return TransferFailure(
            reason: .rejected(.unknownRecipient),
            message: "\(name) has published no key to seal for; \(name) does with 'transfer whoami'."
                + (consequence.isEmpty ? "" : " \(consequence)"))
    }
}
