import TransferIO
package import TransferKeys
import TransferModel
import TransferProtocol
package import TransferSealing
import TransferPorts
import TransferStore
import TransferSystem

/// People and their mailboxes: who there is on a server, what they have sent this client, and what became of what this client
/// has sent them with `ClientConfiguration.recipients`. All of it throws `TransferFailure`, `unsupported` where this client has
/// no mailbox.
extension TransferClient {
    /// Who this client is on the server.
    ///
    /// - Throws: `TransferFailure`.
    public func whoami() async throws(TransferFailure) -> Person {
        guard let person = try await ask(isAboutItself: true).persons.first else {
            throw TransferFailure(reason: .rejected(.notFound), message: "The server has no name for this client.")
        }
        return person
    }

    /// Everybody who has a mailbox on the server, in the order in which it names them.
    ///
    /// - Throws: `TransferFailure`.
    public func people() async throws(TransferFailure) -> [Person] { try await ask(isAboutItself: false).persons }

    /// What waits for this client, in the order in which it came to the server.
    ///
    /// - Parameters:
    ///   - senders: whose deliveries are wanted; all if there is none.
    ///   - watches: whether it goes on with what comes later, until it is stopped.
    public func inbox(from senders: [String] = [], watches: Bool = false) -> RequestEvents<Delivery> {
        mail(.inbox, people: senders, watches: watches)
    }

    /// What this client has sent, in the order in which it came to the server, one delivery for each recipient.
    ///
    /// - Parameters:
    ///   - people: for whom it was; all if there is none.
    ///   - wantsReceipts: whether receipts come with what is delivered.
    ///   - watches: whether it goes on, until it is stopped: with what is sent later, and again with every delivery that has
    ///     changed.
    ///   - number: only deliveries with larger numbers are told.
    public func sent(
        to people: [String] = [], wantsReceipts: Bool = false, watches: Bool = false, after number: UInt64 = 0
    ) -> RequestEvents<Delivery> {
        mail(.sent, people: people, watches: watches, wantsReceipts: wantsReceipts, after: number)
    }

    /// As `sent`, until it is stopped, and says when all that there was, was told.
    package func watchSent(to people: [String], wantsReceipts: Bool) -> RequestEvents<MailNews> {
        let events = EventQueue<MailNews>()
        let plan = MailPlan(
            requestContext, .sent, after: 0, people: people, watches: true, wantsReceipts: wantsReceipts,
            isFull: { events.isFull }, tell: { events.send($0) })
        run(plan, events, resume: { plan.resume() }, failure: { plan.failure })
        return RequestEvents(events)
    }

    /// Receives what waits for this client. Each delivery has its name in the directory when it is whole, verified and on
    /// disk, and only then the server is told so. What has the name already stays: see `ClientConfiguration.conflict`. A long
    /// one that was interrupted goes on where it was, and one that is here already is not fetched again.
    ///
    /// - Parameter directory: made where it is missing; names of others never lead out of it.
    /// - Returns: what happens, ending when every delivery that waited has its report.
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

    /// Reads the content of a delivery. The server is not told that it is delivered: see `settle`.
    ///
    /// - Parameters:
    ///   - delivery: as this client has listed it.
    ///   - opens: whether what is sealed is opened.
    /// - Returns: its content, each piece verified, and at the end what `settle` takes. It throws `TransferFailure`, `rejected` when
    ///   it waits no longer, its content is not what was listed, it cannot be opened, or it is not what its sender has signed: then
    ///   the content that came before is incomplete and may be forged.
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

    /// Says that all of the content of deliveries to this client is on stable storage where this client keeps it, and signs that
    /// with its key, if it has one. Those of which something was said before stay so.
    ///
    /// - Throws: `TransferFailure`, `rejected` when one of them never was for this client.
    public func settle(_ deliveries: [VerifiedDelivery]) async throws(TransferFailure) {
        guard !deliveries.isEmpty else { return }
        try await say(.delivered(deliveries))
    }

    /// Says that deliveries to this client are not wanted: the server may throw them away. Those of which something was said
    /// before stay so.
    ///
    /// - Throws: `TransferFailure`, `rejected` when one of them never was for this client.
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

    /// - Parameter isAboutItself: whether only this client is wanted.
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
