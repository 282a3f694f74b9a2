import Synchronization
package import TransferModel
package import TransferPorts
import TransferSystem

/// The mailboxes of a server: who may send to whom, what waits for whom, and who wants to hear of it. Synchronous and safe to
/// call from any thread; most of it waits for the disk.
package final class Mailroom: Sendable {
    /// Names that wires without keys may bring: each has a row, and anybody can make one up.
    package static let mostUnproven = 4096

    /// Names that give way at once, so that it is done rarely.
    private static let forgottenAtOnce = 256

    /// Deliveries that end in one transaction, so that others have their turn.
    private static let expiredAtOnce = 1000

    private let opened: Result<any MailRecords, RecordsError>
    private let people: any MailPeople
    private let watchers = MailWatchers()
    private let settings: Locked<MailLimits>
    /// What the ledger knows of people: asked for with every upload.
    private let known = Locked([PathKey: KnownPerson]())
    private let isLoaded = Atomic(false)
    private let utc: @Sendable () -> Int64

    /// - Parameters:
    ///   - opened: the ledger, or why it cannot be opened: then nothing is taken for anybody.
    ///   - utc: the time in nanoseconds since 1970.
    package init(
        _ opened: Result<any MailRecords, RecordsError>, _ people: any MailPeople, _ limits: MailLimits,
        utc: @escaping @Sendable () -> Int64 = utcNanoseconds
    ) {
        (self.opened, self.people, self.utc) = (opened, people, utc)
        settings = Locked(limits)
        try? loadPeople()
    }

    /// Asks the ledger whom it knows, once it can be asked: another program may have held it when the server started.
    private func loadPeople() throws(RecordsError) {
        guard !isLoaded.load(ordering: .acquiring) else { return }
        let found = try opened.get().people()
        known.withLock { known in
            for person in found where known[PathKey(person.name)] == nil { known[PathKey(person.name)] = person }
        }
        isLoaded.store(true, ordering: .releasing)
    }

    package var limits: MailLimits {
        get { settings.withLock(\.self) }
        set { settings.withLock { $0 = newValue } }
    }

    /// - Throws: why the ledger cannot be used.
    package var ledger: any MailRecords {
        get throws(RecordsError) { try opened.get() }
    }

    /// Whether the mailboxes can be used at all.
    package var isOpen: Bool { (try? opened.get()) != nil }

    package func close() {
        (try? opened.get())?.close()
    }
}

// MARK: People

extension Mailroom {
    /// - Returns: nothing for a name that nobody has.
    package func person(_ name: String) -> MailPerson? {
        if let person = people.person(name) { return person }
        guard known.withLock({ $0[PathKey(name)]?.isUnproven }) ?? false, !people.isTaken(name) else { return nil }
        return MailPerson(name, isUnproven: true)
    }

    /// Everybody who has a mailbox, in order of the names' bytes.
    package var everybody: [MailPerson] {
        let listed = people.people
        let names = Set(listed.lazy.map { PathKey($0.name) })
        let unproven = known.withLock { known in
            known.values.filter { $0.isUnproven && !names.contains(PathKey($0.name)) }.map(\.name)
        }
        .filter { !people.isTaken($0) }
        return (listed + unproven.map { MailPerson($0, isUnproven: true) })
            .sorted { PathKey($0.name) < PathKey($1.name) }
    }

    /// What somebody says of its key for sealed uploads.
    package func sealingKey(of name: String) -> [UInt8]? { known.withLock { $0[PathKey(name)]?.sealingKey } }

    /// Keeps what somebody says of its key.
    package func introduce(_ name: String, sealingKey: [UInt8]) throws(RecordsError) {
        try keep([KnownPerson(name: name, sealingKey: sealingKey, isUnproven: false)])
    }

    /// Whether the name is that of somebody with a key or token, or was.
    package func isTaken(_ name: String) -> Bool {
        people.isTaken(name) || known.withLock { $0[PathKey(name)].map { !$0.isUnproven } ?? false }
    }

    /// Whether anybody with that name has come, or was sent something.
    package func isKnown(_ name: String) -> Bool { known.withLock { $0[PathKey(name)] != nil } }

    /// A name came over a wire without keys: it has a mailbox from now on.
    ///
    /// - Returns: why not: somebody with a key has the name, or there are too many.
    package func takeUnproven(_ name: String) throws(RecordsError) -> MailRefusal? {
        try loadPeople()
        if isTaken(name) { return .unknown(name) }
        if known.withLock({ $0[PathKey(name)] != nil }) { return nil }
        guard people.isComplete else {
            return .unavailable("The lists of who may come in cannot be read: so no new name is taken for now.")
        }
        if unproven >= Self.mostUnproven { try forgetUnproven() }
        guard unproven < Self.mostUnproven else {
            return .unavailable(
                "The server knows \(Self.mostUnproven) names of older programs already and takes no more.")
        }
        try keep([KnownPerson(name: name, isUnproven: true)])
        return nil
    }

    /// Somebody of the lists has come, or is sent something: the name stays that person's, also when the lists no longer have
    /// it, or cannot be read.
    package func remember(_ names: [String]) throws(RecordsError) {
        try loadPeople()
        let strangers = known.withLock { known in names.filter { known[PathKey($0)]?.isUnproven ?? true } }
        let persons = strangers.filter { people.isTaken($0) }.map { name in
            KnownPerson(name: name, sealingKey: sealingKey(of: name), isUnproven: false)
        }
        if !persons.isEmpty { try keep(persons) }
    }

    private var unproven: Int { known.withLock { $0.values.count { $0.isUnproven } } }

    /// Makes room for new names: those that came first go, unless they are here, or have anything to do with any delivery.
    private func forgetUnproven() throws(RecordsError) {
        let idle = try ledger.idlePeople(limit: Self.mostUnproven).filter { !watchers.isHere($0) }
        let names = Array(idle.prefix(Self.forgottenAtOnce))
        guard !names.isEmpty else { return }
        try ledger.forget(people: names)
        known.withLock { known in for name in names { known[PathKey(name)] = nil } }
    }

    private func keep(_ persons: [KnownPerson]) throws(RecordsError) {
        try ledger.keep(persons, at: utc())
        known.withLock { known in for person in persons { known[PathKey(person.name)] = person } }
    }
}

// MARK: Sending

extension Mailroom {
    /// Whether an upload has a chance, before its content travels.
    ///
    /// - Parameters:
    ///   - sender: nothing for one without a name.
    ///   - size: bytes of content; nothing where nobody knows.
    package func admit(_ size: UInt64?, from sender: MailSender?, to recipients: [String]) throws(MailRefusal) {
        guard let sender else { throw .noName }
        let ledger: any MailRecords
        do throws(RecordsError) {
            ledger = try self.ledger
        } catch {
            throw .unavailable(error.message)
        }
        for name in recipients {
            guard let person = person(name) else { throw .unknown(name) }
            guard person.takes(from: sender.name) else { throw .declines(name) }
            if let refusal = ledger.refusal(size ?? 0, from: sender, to: name, limits) { throw refusal }
        }
        do throws(RecordsError) {
            try remember(recipients + (sender.isUnproven ? [] : [sender.name]))
        } catch {
            throw .unavailable(error.message)
        }
    }

    /// Puts mails into mailboxes and tells those who watch.
    ///
    /// - Returns: what came of each, in order.
    package func queue(
        _ mails: [(mail: Mail, recipients: [String])], isThere: (RelativePath) -> Bool
    ) throws(RecordsError) -> [QueuedMail] {
        let queued = try ledger.queue(mails, limits, isThere: isThere)
        tell(queued.flatMap { queued in if case .queued(let fresh, _, _) = queued { fresh } else { [] as [String] } })
        return queued
    }

    /// Tells those of these people who watch that mail has come for them.
    package func tell(_ recipients: [String]) { watchers.notify(recipients) }
}

// MARK: Receiving

extension Mailroom {
    /// All of some deliveries has been sent to their recipient.
    package func fetched(_ deliveries: [Delivery]) throws(RecordsError) {
        watchers.notify(Self.senders(of: try ledger.fetched(deliveries, at: utc())))
    }

    /// A recipient has received uploads, or doesn't want them.
    ///
    /// - Parameter receipts: makes of the deliveries what the recipient has signed of each; see `MailRecords.settle`.
    package func settle(
        _ ids: [UploadID], by recipient: String, as state: DeliveryState,
        receipts: (([Delivery]) -> [[UInt8]]?)? = nil
    ) throws(RecordsError) -> SettledMail {
        let settled = try ledger.settle(ids, by: recipient, as: state, at: utc(), receipts: receipts)
        if let ended = settled.ended { watchers.notify(Self.senders(of: ended.deliveries)) }
        return settled
    }

    /// Ends what has waited for too long, and forgets what ended long ago.
    ///
    /// - Parameter age: nanoseconds for which a server had the ledger open.
    /// - Returns: what ended now.
    package func expire(after age: Int64) throws(RecordsError) -> EndedDeliveries {
        let now = utc()
        var all = EndedDeliveries()
        while true {
            let ended = try ledger.expire(after: age, at: now, limit: Self.expiredAtOnce)
            guard !ended.deliveries.isEmpty else { break }
            all.deliveries += ended.deliveries
            all.freed += ended.freed
        }
        watchers.notify(Self.senders(of: all.deliveries))
        // Late retries are known again for as long.
        try ledger.forget(endedBefore: age > .max / 2 ? .max : age * 2)
        return all
    }

    private static func senders(of deliveries: [Delivery]) -> [String] {
        var seen: Set<PathKey> = []
        return deliveries.map(\.mail.sender).filter { seen.insert(PathKey($0)).inserted }
    }
}

// MARK: Who is here

extension Mailroom {
    /// Somebody has come over a connection.
    package func enter(_ name: String, _ connection: Int) { watchers.enter(name, connection) }

    package func leave(_ name: String, _ connection: Int) { watchers.leave(name, connection) }

    /// Calls `notify`, from any thread, whenever there is news for somebody who has entered: something has come for him, or
    /// something that he has sent has come to another state.
    package func watch(_ name: String, _ connection: Int, _ notify: @escaping @Sendable () -> Void) {
        watchers.watch(name, connection, notify)
    }

    package func isHere(_ name: String) -> Bool { watchers.isHere(name) }

    /// How many names are here.
    package var visitors: Int { watchers.count }
}
