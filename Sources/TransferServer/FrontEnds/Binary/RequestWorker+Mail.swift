import TransferAccess
import TransferIntake
import TransferKeys
import TransferMail
import TransferModel
import TransferProtocol
import TransferReceipts
import TransferSealing
import TransferPorts

/// Requests about people and mailboxes. A client sees what is addressed to it and what it has sent, and nothing else.
extension RequestWorker {
    func begin(_ request: PeopleRequest) throws(Failure) -> PeopleListing {
        let (mailroom, person) = try mailbox(toRead: !request.isAboutItself)
        if request.isAboutItself {
            let isHere = mailroom.isHere(person)
            return PeopleListing(
                request.id,
                [
                    ListedPerson(
                        person, isHere: isHere, takesFromClient: mailroom.person(person)?.takes(from: person) ?? false,
                        isClient: true, sealingKey: certificates(of: person, in: mailroom))
                ])
        }
        return PeopleListing(
            request.id,
            mailroom.everybody.map { other in
                ListedPerson(
                    other.name, isHere: mailroom.isHere(other.name), takesFromClient: other.takes(from: person),
                    isClient: other.name.hasSameBytes(as: person), isUnproven: other.isUnproven,
                    sealingKey: certificates(of: other.name, in: mailroom))
            })
    }

    func begin(_ request: MailRequest) throws(Failure) -> MailListing {
        let (mailroom, person) = try mailbox(toRead: request.box == .inbox)
        return MailListing(request, for: person, try ledger(of: mailroom))
    }

    func begin(_ request: IntroduceRequest) throws(Failure) -> DoneAnswer {
        let (mailroom, person) = try mailbox(toRead: true)
        try attemptMail { () throws(RecordsError) in
            try mailroom.introduce(person, sealingKey: request.sealingKey)
        }
        return DoneAnswer(outcome: Outcome(id: request.id, code: .completed), subject: "introduce")
    }

    /// Records the client's verdict, which the server believes: a client that says it has received a delivery has it, and the content of
    /// ended deliveries is deleted.
    func begin(_ request: SettleRequest) throws(Failure) -> DoneAnswer {
        let (mailroom, person) = try mailbox(toRead: true)
        let state: DeliveryState = request.verdict == .delivered ? .delivered : .declined
        // The verdict can end deliveries that were looked up before, so later requests look them up again.
        lookedUp.removeAll(keepingCapacity: true)
        let receipts = state == .delivered ? try self.receipts(for: request) : nil
        let settled = try attemptMail { () throws(RecordsError) in
            try mailroom.settle(request.deliveries, by: person, as: state, receipts: receipts)
        }
        let ended: EndedDeliveries
        switch settled {
        case .ended(let some): ended = some
        case .notForYou: throw .notForYou
        case .badSignature: throw .badSignature
        }
        resources.intake.mail.free(ended.freed)
        return DoneAnswer(
            outcome: Outcome(
                id: request.id, code: .completed, isDurable: resources.isDurable,
                count: UInt64(request.deliveries.count)),
            subject: "settle", done: ended.deliveries)
    }

    /// Begins to send the content of a delivery.
    func begin(_ fetch: FetchRequest, of id: UploadID) throws(Failure) -> FileSending {
        guard let found = try delivery(id), found.state.isOpen else { throw .notForYou }
        // The name was checked on arrival. If the ledger now has an invalid one, the path of the content is used.
        let name = (try? RelativePath(found.mail.name)) ?? found.mail.path
        let content: any ReadableContent
        do throws(Failure) {
            content = try files.open(found.mail.path, as: name)
        } catch {
            throw error.code == .notFound ? .contentLost(name) : error
        }
        let digest = found.mail.digest
        let isKnown = fetch.length == nil && digest.algorithm.function == fetch.digest
        let sending = FileSending(
            fetch, name, content, known: isKnown ? digest : nil, digester: files.digester(fetch.digest),
            takesHoles: takesHoles, delivery: found)
        guard sending.isWanted else {
            throw Failure(.fileChanged, "\(name) has changed since the client looked at it.")
        }
        outcome.chunk.append(.file(sending.beginning))
        return sending
    }

    /// Looks up a delivery in the ledger, together with those that the next requests fetch.
    private func delivery(_ id: UploadID) throws(Failure) -> Delivery? {
        let (mailroom, person) = try mailbox(toRead: true)
        if let known = lookedUp[id] { return known }
        let ids = Set([id] + nextFetched(Self.lookedUpAtOnce - 1)).filter { lookedUp[$0] == nil }
        let ledger = try ledger(of: mailroom)
        let found = try attemptMail { () throws(RecordsError) in
            try ledger.deliveries(of: Array(ids), to: person)
        }
        for id in ids { lookedUp[id] = .some(nil) }
        for delivery in found { lookedUp[delivery.mail.id] = delivery }
        return lookedUp[id] ?? nil
    }

    /// Most deliveries that are looked up together: as many as fit into one or two chunks, so that few lookups are useless.
    private static let lookedUpAtOnce = 64

    /// The sealing certificates that a person's machines have published, without those of keys that the person no longer has: a removed
    /// machine could otherwise read what is sealed for them.
    private func certificates(of name: String, in mailroom: Mailroom) -> [UInt8]? {
        guard let all = mailroom.sealingKey(of: name) else { return nil }
        guard let keys = mailroom.person(name)?.keys else { return all }
        let kept = SealingCertificate.list(all, of: keys)
        return kept.isEmpty ? nil : kept
    }

    /// Notes that the content of a delivery has changed. If a client sends the content again, it has to upload it, and does not learn that
    /// it is stored.
    func noteRotten(_ delivery: UploadID) { try? resources.intake.mailroom?.ledger.noteRotten(delivery) }

    /// Records which deliveries were sent in this step. Failing to do so has no consequences.
    func noteFetched() {
        guard !fetched.isEmpty, let mailroom = resources.intake.mailroom else { return }
        defer { fetched.removeAll(keepingCapacity: true) }
        try? mailroom.fetched(fetched)
    }

    /// - Parameter toRead: whether the client needs the right to read.
    private func mailbox(toRead: Bool) throws(Failure) -> (Mailroom, String) {
        guard let mailroom = resources.intake.mailroom else { throw .noMailboxes }
        guard let person = caller.person else { throw Failure(MailRefusal.noName) }
        guard !toRead || caller.grant.options.rights.mayRead else {
            throw Failure(.forbidden, "This client may not read or list files: its access is write-only.")
        }
        return (mailroom, person)
    }

    private func ledger(of mailroom: Mailroom) throws(Failure) -> any MailRecords {
        try attemptMail { () throws(RecordsError) in try mailroom.ledger }
    }

    private func attemptMail<T>(_ body: () throws(RecordsError) -> T) throws(Failure) -> T {
        do throws(RecordsError) {
            return try body()
        } catch {
            throw Failure(mail: error)
        }
    }

    /// - Returns: a closure that makes receipts of deliveries from the recipient's signature, in the form that senders get; nil for a
    ///   request without a signature.
    /// - Throws: `forbidden` if the signature cannot be the client's.
    private func receipts(for request: SettleRequest) throws(Failure) -> (([Delivery]) -> [[UInt8]]?)? {
        guard let signature = request.signature else { return nil }
        guard case .key(let key) = caller.grant.source else { throw .badSignature }
        let server = resources.intake.receiptKey
        return { deliveries in
            let receipts = deliveries.compactMap {
                try? DeliveryReceipt($0, signed: request.time, by: key, server: server)
            }
            guard receipts.count == deliveries.count else { return nil }
            return DeliveryBatch.lines(receipts, signature: signature)
        }
    }
}

extension Failure {
    /// The failure for deliveries that were never addressed to the client, and for those that it cannot have any more. The client cannot
    /// distinguish the two.
    fileprivate static let notForYou = Failure(
        .notFound, "There is no such delivery for this client, or it was removed.")

    fileprivate static let badSignature = Failure(
        .forbidden, "The receipt is not signed with this client's key, or does not match the delivery.")
}

extension DeliveryReceipt {
    /// Makes the statement that the recipient must have signed.
    ///
    /// - Parameters:
    ///   - time: by the recipient's clock; milliseconds since 1970.
    ///   - server: the key of the server's receipts; nil if it gives none.
    fileprivate init(
        _ delivery: Delivery, signed time: Int64, by key: PublicKey, server: [UInt8]?
    ) throws(ReceiptFault) {
        let mail = delivery.mail
        guard let name = try? RelativePath(mail.name), let milliseconds = UInt64(exactly: time),
            let time = ReceiptTime(milliseconds: milliseconds)
        else { throw .malformed("a name or a time that no receipt has") }
        try self.init(
            delivery: mail.id, to: delivery.recipient, from: mail.sender, name: name, kind: mail.kind, size: mail.size,
            digest: mail.digest, time: time, recipient: key, server: ServerKey(Bytes32(server ?? []) ?? Bytes32()))
    }
}

/// The answer to a request that was performed when it began.
struct DoneAnswer: RequestAnswer {
    let outcome: Outcome
    let subject: String
    var done: [Delivery] = []

    var id: UInt32 { outcome.id }

    func fill(_ chunk: AnswerChunk) -> Outcome? { chunk.takesMessage ? outcome : nil }

    func events(peer: String) -> [LogEvent] { done.map { .settled($0, peer: peer) } }
}

/// The answer to a `mail` request: lists a mailbox page by page.
final class MailListing: RequestAnswer {
    private let request: MailRequest
    private let person: String
    private let ledger: any MailRecords
    private var last: UInt64
    private var waiting: ArraySlice<ListedDelivery> = []
    private var isOver = false
    private var count: UInt64 = 0

    /// Most deliveries that are read together; each page is one query of the ledger.
    private static let pageSize = 128

    init(_ request: MailRequest, for person: String, _ ledger: any MailRecords) {
        (self.request, self.person, self.ledger) = (request, person, ledger)
        last = request.after
    }

    var id: UInt32 { request.id }
    var subject: String { "mail" }
    var watches: Bool { request.watches }

    func fill(_ chunk: AnswerChunk) throws(Failure) -> Outcome? {
        while chunk.takesMessage {
            if waiting.isEmpty { waiting = try nextPage()[...] }
            guard !waiting.isEmpty else { return Outcome(id: id, code: .completed, count: count) }
            chunk.append(.deliveries(Deliveries(id: id, takeFrame())))
        }
        return nil
    }

    private func takeFrame() -> [ListedDelivery] {
        var room = Deliveries.room
        let frame = waiting.prefix { delivery in
            room -= delivery.encodedSize
            return room >= 0
        }
        waiting = waiting.dropFirst(frame.count)
        count += UInt64(frame.count)
        return Array(frame)
    }

    private func nextPage() throws(Failure) -> [ListedDelivery] {
        guard !isOver else { return [] }
        let page: [Delivery]
        do throws(RecordsError) {
            switch request.box {
            case .inbox:
                page = try ledger.inbox(
                    of: person, after: last, limit: Self.pageSize, withEnded: request.wantsEnded)
            case .sent: page = try ledger.sent(by: person, after: last, limit: Self.pageSize)
            }
        } catch {
            throw Failure(mail: error)
        }
        isOver = page.isEmpty
        last = page.last?.number ?? last
        return page.map { ListedDelivery($0, in: request.box, withReceipt: request.wantsReceipts) }
    }
}

extension ListedDelivery {
    /// - Parameter withReceipt: whether the recipient's receipt is wanted, which only the sender gets.
    fileprivate init(_ delivery: Delivery, in box: MailRequest.Box, withReceipt: Bool) {
        let mail = delivery.mail
        let isSent = box == .sent
        self.init(
            number: delivery.number, id: mail.id, state: delivery.state,
            person: isSent ? delivery.recipient : mail.sender, name: mail.name, kind: mail.kind, size: mail.size,
            digest: mail.digest, queued: mail.queued / 1_000_000, changed: delivery.changed / 1_000_000,
            modified: mail.modified, permissions: mail.permissions, note: mail.note,
            receipt: isSent && withReceipt ? delivery.receipt : nil, isUnproven: !isSent && mail.isUnproven)
        // The recipient can do without the note, but no client can read a frame that is too long.
        if encodedSize > Deliveries.room { note = nil }
    }
}

/// The answer to a `people` request: lists people with mailboxes.
final class PeopleListing: RequestAnswer {
    let id: UInt32
    private var waiting: ArraySlice<ListedPerson>
    private let count: UInt64

    init(_ id: UInt32, _ persons: [ListedPerson]) {
        (self.id, waiting, count) = (id, persons[...], UInt64(persons.count))
    }

    var subject: String { "people" }

    func fill(_ chunk: AnswerChunk) -> Outcome? {
        while chunk.takesMessage {
            guard !waiting.isEmpty else { return Outcome(id: id, code: .completed, count: count) }
            var room = Persons.room
            let frame = waiting.prefix { person in
                room -= person.encodedSize
                return room >= 0
            }
            waiting = waiting.dropFirst(frame.count)
            chunk.append(.persons(Persons(id: id, Array(frame))))
        }
        return nil
    }
}
