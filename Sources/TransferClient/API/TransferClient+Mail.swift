import TransferIO
package import TransferKeys
import TransferModel
import TransferProtocol
package import TransferSealing
import TransferPorts
import TransferStore
import TransferSystem

/// People and their mailboxes: the people on a server, what they have sent this client, and the state of what this
/// client has sent them with `ClientConfiguration.recipients`. All functions and their events throw `TransferFailure`,
/// `unsupported` if this client has no mailbox.
extension TransferClient {
    /// Asks the server under which name it knows this client.
    ///
    /// - Throws: `TransferFailure`: `rejected(.notFound)` if the server has no name for this client.
    public func whoami() async throws(TransferFailure) -> Person {
        guard let person = try await ask(isAboutItself: true).persons.first else {
            throw TransferFailure(reason: .rejected(.notFound), message: "The server has no name for this client.")
        }
        return person
    }

    /// Lists the people who have mailboxes on the server, in the order in which the server names them.
    ///
    /// - Throws: `TransferFailure`, if the server cannot be asked.
    public func people() async throws(TransferFailure) -> [Person] { try await ask(isAboutItself: false).persons }

    /// Lists the deliveries that wait for this client, in the order in which the server received them.
    ///
    /// - Parameters:
    ///   - senders: the names of the senders whose deliveries are wanted; empty for all.
    ///   - watches: whether the sequence continues with later deliveries, until it is cancelled.
    public func inbox(from senders: [String] = [], watches: Bool = false) -> RequestEvents<Delivery> {
        mail(.inbox, people: senders, watches: watches)
    }

    /// Lists what this client has sent, in the order in which the server received it, one delivery for each recipient.
    ///
    /// - Parameters:
    ///   - people: the names of the recipients wanted; empty for all.
    ///   - wantsReceipts: whether delivered ones are listed with their receipts.
    ///   - watches: whether the sequence continues, until it is cancelled, with later deliveries and again with every
    ///     delivery that changes.
    ///   - number: the events have only deliveries with larger numbers.
    public func sent(
        to people: [String] = [], wantsReceipts: Bool = false, watches: Bool = false, after number: UInt64 = 0
    ) -> RequestEvents<Delivery> {
        mail(.sent, people: people, watches: watches, wantsReceipts: wantsReceipts, after: number)
    }

    /// Like `sent` with `watches`, but with an additional event after the last delivery that existed at the beginning.
    package func watchSent(to people: [String], wantsReceipts: Bool) -> RequestEvents<MailNews> {
        let events = EventQueue<MailNews>()
        let plan = MailPlan(
            requestContext, .sent, after: 0, people: people, watches: true, wantsReceipts: wantsReceipts,
            isFull: { events.isFull }, tell: { events.send($0) })
        run(plan, events, resume: { plan.resume() }, failure: { plan.failure })
        return RequestEvents(events)
    }

    /// Receives the deliveries that wait for this client. Each one appears under its name in the directory when it is
    /// complete, verified and durable, and only then does the client report it to the server. For a name that is taken,
    /// see `ClientConfiguration.conflict`. An interrupted long delivery is resumed, and content that this machine
    /// already has is not fetched again.
    ///
    /// - Parameter directory: created if it is missing; names that others chose never lead out of it.
    /// - Returns: the events, which end when every delivery that waited has its report. They throw `TransferFailure` if
    ///   the directory cannot be opened or the connection is lost for good.
    public func receive(
        to directory: String = ".", _ options: ReceiveOptions = ReceiveOptions()
    ) -> RequestEvents<ReceiveEvent> {
        let events = EventQueue<ReceiveEvent>()
        let context = requestContext
        Task(executorPreference: context.loop) { [self] in
            let opened = await context.pool.run {
                Result { () throws(Failure) in try PullDirectory(path: directory) }
            }
            switch opened {
            case .failure(let error):
                events.finish(.failure(TransferFailure(reason: .rejected(error.code), message: error.message)))
            case .success(let destination):
                let plan = await context.pool.run { ReceivePlan(context, destination, options, events) }
                await converse(
                    plan, events, resume: { plan.resume() }, failure: { plan.failure },
                    end: { result in
                        await context.pool.run { plan.tidy() }
                        return result
                    })
            }
        }
        return RequestEvents(events)
    }

    /// Reads the content of a delivery without reporting it as delivered; see `settle`.
    ///
    /// - Parameters:
    ///   - delivery: a delivery that this client has listed.
    ///   - opens: whether sealed content is opened.
    /// - Returns: the content in verified pieces, and at the end the value that `settle` takes. The events throw
    ///   `TransferFailure`, `rejected` if the delivery no longer waits, its content differs from what was listed or
    ///   signed by its sender, or it cannot be opened: then the content that came before is incomplete and may be
    ///   forged.
    public func read(_ delivery: Delivery, opens: Bool = true) -> RequestEvents<DeliveryPart> {
        let events = EventQueue<DeliveryPart>(limit: Self.blocksAhead)
        do throws(TransferFailure) {
            if opens { _ = try meet(delivery) }
        } catch {
            events.finish(.failure(error))
            return RequestEvents(events)
        }
        let queue = RequestQueue(needs: .mail) { events.isFull }
        let context = requestContext
        let opening = opens ? ContentSeal(delivery, context.configuration.sealing).map { ReadOpening($0) } : nil
        let taker = ReadTaker(delivery, opening, context, queue) { events.send($0) }
        queue.add(taker.asked)
        run(queue, events, resume: { queue.resume() }, failure: { taker.failure })
        return RequestEvents(events)
    }

    /// Reports to the server that the complete content of deliveries to this client is on stable storage, and signs the
    /// report with this client's key, if it has one. Deliveries that were reported or declined before stay as they are.
    ///
    /// - Throws: `TransferFailure`, `rejected` if one of them was never addressed to this client.
    public func settle(_ deliveries: [VerifiedDelivery]) async throws(TransferFailure) {
        guard !deliveries.isEmpty else { return }
        try await say(.delivered(deliveries))
    }

    /// Reports that deliveries to this client are not wanted, so the server may remove them. Deliveries that were
    /// reported or declined before stay as they are.
    ///
    /// - Throws: `TransferFailure`, `rejected` if one of them was never addressed to this client.
    public func decline(_ deliveries: [Delivery]) async throws(TransferFailure) {
        guard !deliveries.isEmpty else { return }
        try await say(.declined(deliveries))
    }

    private func say(_ said: SettleRun.Said) async throws(TransferFailure) {
        let events = EventQueue<Never>()
        let settling = SettleRun(requestContext, said, events)
        settling.begin()
        run(settling.queue, events, resume: {}, failure: { settling.failure })
        var iterator = RequestEvents(events).makeAsyncIterator()
        while try await iterator.next() != nil {}
    }

    private func mail(
        _ box: MailRequest.Box, people: [String], watches: Bool, wantsReceipts: Bool = false, after number: UInt64 = 0
    ) -> RequestEvents<Delivery> {
        let events = EventQueue<Delivery>()
        let plan = MailPlan(
            requestContext, box, after: number, people: people, watches: watches, wantsReceipts: wantsReceipts,
            isFull: { events.isFull },
            tell: { news in if case .delivery(let delivery) = news { events.send(delivery) } })
        run(plan, events, resume: { plan.resume() }, failure: { plan.failure })
        return RequestEvents(events)
    }

    /// - Parameter isAboutItself: whether to ask only about this client.
    package func ask(isAboutItself: Bool) async throws(TransferFailure) -> People {
        let events = EventQueue<Person>()
        let question = PeopleQuestion(isAboutItself: isAboutItself, listBudget, events)
        run(question.queue, events, resume: { question.queue.resume() }, failure: { question.failure })
        var people: [Person] = []
        var iterator = RequestEvents(events).makeAsyncIterator()
        while let person = try await iterator.next() { people.append(person) }
        return People(persons: people, server: question.server)
    }
}

extension TransferClient {
    /// Remembers the key that signed a sealed delivery as the sender's key, if no key of the sender is known. It reads
    /// and writes a file.
    ///
    /// - Parameter delivery: a delivery that this client has listed.
    /// - Returns: the key's fingerprint if it was seen for the first time; otherwise nil.
    /// - Throws: `TransferFailure`, `rejected` if the sealed note cannot be opened, or another key is known for the
    ///   sender.
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

/// Preparations for a push whose uploads are sealed.
extension TransferClient {
    /// Asks the server for the keys of the recipients, and compares them with the known ones.
    ///
    /// - Parameter tell: receives sentences for the user.
    /// - Throws: `TransferFailure` if a recipient has no key, or a key that differs from the known one.
    func prepareSealing(
        for names: [String], _ tell: @escaping @Sendable (String) -> Void
    ) async throws(TransferFailure) -> SealedPush {
        guard let identity = sealing else { throw .noSealingKey }
        guard !names.isEmpty else { throw .nobodyToSealFor }
        let people = try await ask(isAboutItself: false)
        var certificates: [(name: String, list: [SealingCertificate])] = []
        // Check that all recipients have keys before any key is remembered.
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
    /// - Returns: the keys to seal for, each once.
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
        message: "Sealing needs a key of this user: see 'transfer key'. Nothing was sent.")

    fileprivate static let nobodyToSealFor = TransferFailure(
        reason: .unsupported, message: "Sealing needs at least one recipient. Nothing was sent.")

    fileprivate static let tooManyToSealFor = TransferFailure(
        reason: .unsupported,
        message: "There are too many keys to seal for; the limit is \(SealedHeader.mostRecipients - 1). Nothing "
            + "was sent.")
}

/// Publishing this client's key, and finding those of other people, to seal for them.
extension TransferClient {
    /// The people with mailboxes, and the key of the server that lists them.
    package struct People: Sendable {
        package let persons: [Person]
        package let server: KeyFingerprint?

        /// The person with the name, compared byte by byte as on the server, if there is one.
        package func person(_ name: String) -> Person? { persons.first { $0.name.hasSameBytes(as: name) } }

        /// The certificates of the keys to seal for a person.
        ///
        /// - Parameter consequence: a sentence for the error message that says what follows from the failure.
        /// - Throws: `rejected` if no person has that name, or the person has published no key.
        package func certificates(
            of name: String, _ consequence: String = ""
        ) throws(TransferFailure) -> [SealingCertificate] {
            guard let person = person(name) else { throw .unknown(name, consequence) }
            let list = person.certificates
            guard !list.isEmpty else { throw .unpublished(name, consequence) }
            return list
        }
    }

    /// Publishes this client's sealing key on the server, unless the server has it.
    ///
    /// - Returns: whether it was published now; false also if this client has no key, or no name on the server.
    /// - Throws: `TransferFailure` if the server cannot be asked.
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
            // The server has no mailboxes, or no name for this client.
            case .unsupported, .rejected: return false
            default: throw error
            }
        }
    }

    /// Sends a request whose answer is only an outcome.
    private func ask(_ request: Request) async throws(TransferFailure) {
        let events = EventQueue<Never>()
        let question = OutcomeQuestion(request)
        run(question.queue, events, resume: {}, failure: { question.failure })
        var iterator = RequestEvents(events).makeAsyncIterator()
        while try await iterator.next() != nil {}
    }
}

extension Person {
    /// The certificates of this person's sealing keys. Each is signed by an identity key, and only the server vouches
    /// that this identity key is the person's.
    package var certificates: [SealingCertificate] { sealingKey.map { SealingCertificate.list($0) } ?? [] }
}

extension SealingIdentity {
    /// The list of certificates to publish; nil if the published list already contains this client's key.
    ///
    /// - Parameter published: the certificates that the server has of this person.
    func introduction(to published: [SealingCertificate]) -> [UInt8]? {
        let own = published.first { $0.owner == key.key }
        guard own?.recipient != sealing.recipient else { return nil }
        // The new certificate must be newer than the last one, even if the clock was set back, because clients that
        // know the last one refuse an older one.
        let issued = max(UTCTime.now, own?.issued.advanced(bySeconds: 1) ?? .now)
        return SealingCertificate(sealing.recipient, by: key, at: issued).added(to: published)
    }
}

extension TransferFailure {
    fileprivate static func unknown(_ name: String, _ consequence: String) -> TransferFailure {
        TransferFailure(
            reason: .rejected(.unknownRecipient),
            message:
                "The server has no user called '\(name.escapedForDisplay)'; 'transfer people' lists its users."
                + (consequence.isEmpty ? "" : " \(consequence)"))
    }

    fileprivate static func unpublished(_ name: String, _ consequence: String) -> TransferFailure {
        let name = name.escapedForDisplay
        return TransferFailure(
            reason: .rejected(.unknownRecipient),
            message: "\(name) has not published a key to seal for; \(name) publishes one by running 'transfer whoami'."
                + (consequence.isEmpty ? "" : " \(consequence)"))
    }
}
