import TransferDatabase
import TransferIntake
import TransferMail
import TransferModel
import TransferProtocol
import TransferStore

/// Something that was done at once.
struct DoneAnswer: RequestAnswer {
    let outcome: Outcome
    let subject: String
    var done: [Delivery] = []

    var id: UInt32 { outcome.id }

    func fill(_ chunk: FrameChunk) -> Outcome? { chunk.takesMessage ? outcome : nil }

    func events(peer: String) -> [LogEvent] { done.map { .settled($0, peer: peer) } }
}

/// What is in a mailbox, page by page.
final class MailListing: RequestAnswer {
    private let request: MailRequest
    private let person: String
    private let ledger: MailLedger
    private var last: UInt64
    private var waiting: ArraySlice<ListedDelivery> = []
    private var isOver = false
    private var count: UInt64 = 0

    /// Deliveries looked at together: each page is one turn at the ledger.
    private static let pageSize = 128

    init(_ request: MailRequest, for person: String, _ ledger: MailLedger) {
        (self.request, self.person, self.ledger) = (request, person, ledger)
        last = request.after
    }

    var id: UInt32 { request.id }
    var subject: String { "mail" }
    var watches: Bool { request.watches }

    func fill(_ chunk: FrameChunk) throws(Failure) -> Outcome? {
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
        do throws(DatabaseError) {
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
        // Its sender knows what it is, and can do without; a frame that is too long nobody can read.
        if encodedSize > Deliveries.room { note = nil }
    }
}

/// Who has a mailbox.
final class PeopleListing: RequestAnswer {
    let id: UInt32
    private var waiting: ArraySlice<ListedPerson>
    private let count: UInt64

    init(_ id: UInt32, _ persons: [ListedPerson]) {
        (self.id, waiting, count) = (id, persons[...], UInt64(persons.count))
    }

    var subject: String { "people" }

    func fill(_ chunk: FrameChunk) -> Outcome? {
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
