import TransferIO
import TransferModel
import TransferProtocol
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
