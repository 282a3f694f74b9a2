import Synchronization
package import TransferModel
package import TransferPorts
import TransferSystem

/// The mailboxes of a server: checks who may send to whom, keeps the mail that waits, and notifies recipients and
/// senders that watch for news. Synchronous and safe to call from any thread; most calls wait for the disk.
package final class Mailroom: Sendable {
    /// The most names from wires without keys. Each has a row, and any client can make one up.
    package static let mostUnproven = 4096

    /// The number of names that are forgotten at once, so that this is done rarely.
    private static let forgottenAtOnce = 256

    /// The most deliveries that end in one transaction, so that other clients have their turn.
    private static let expiredAtOnce = 1000

    private let opened: Result<any MailRecords, RecordsError>
    private let people: any MailPeople
    private let watchers = MailWatchers()
    /// Says to other servers whose mail has changed; nil if there are no others.
    private let announcement = Locked<(@Sendable ([String]) -> Void)?>(nil)
    private let settings: Locked<MailLimits>
    /// What the ledger knows of people; read with every upload.
    private let known = Locked([PathKey: KnownPerson]())
    private let isLoaded = Atomic(false)
    /// Whether other servers change the ledger as well.
    private let isShared: Bool
    private let utc: @Sendable () -> Int64

    /// - Parameters:
    ///   - opened: the ledger, or the error that keeps it from being opened; with an error no mail is accepted.
    ///   - isShared: whether other servers change the ledger as well.
    ///   - utc: the time in nanoseconds since 1970.
    package init(
        _ opened: Result<any MailRecords, RecordsError>, _ people: any MailPeople, _ limits: MailLimits,
        isShared: Bool = false, utc: @escaping @Sendable () -> Int64 = utcNanoseconds
    ) {
        (self.opened, self.people, self.isShared, self.utc) = (opened, people, isShared, utc)
        settings = Locked(limits)
        try? loadPeople()
    }

    /// Loads the people that the ledger knows. If another program had locked the ledger when the server started, this
    /// is done by a later call.
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

    /// Whether the mailboxes can be used.
    package var isOpen: Bool { (try? opened.get()) != nil }

    package func close() {
        (try? opened.get())?.close()
    }
}

// MARK: People

extension Mailroom {
    /// - Returns: nil for an unknown name.
    package func person(_ name: String) -> MailPerson? {
        if let person = people.person(name) { return person }
        guard known.withLock({ $0[PathKey(name)]?.isUnproven }) ?? false, !people.isTaken(name) else { return nil }
        return MailPerson(name, isUnproven: true)
    }

    /// All people with mailboxes, in the order of the names' bytes.
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

    /// The person's public key for sealed uploads. Another server may have got it a moment ago.
    package func sealingKey(of name: String) -> [UInt8]? {
        if isShared, let found = try? opened.get().people() {
            known.withLock { known in for person in found { known[PathKey(person.name)] = person } }
        }
        return known.withLock { $0[PathKey(name)]?.sealingKey }
    }

    /// Stores a person's public key for sealed uploads.
    package func introduce(_ name: String, sealingKey: [UInt8]) throws(RecordsError) {
        try keep([KnownPerson(name: name, sealingKey: sealingKey, isUnproven: false)])
    }

    /// Whether the name belongs, or belonged, to a person with a key or token.
    package func isTaken(_ name: String) -> Bool {
        people.isTaken(name) || known.withLock { $0[PathKey(name)].map { !$0.isUnproven } ?? false }
    }

    /// Whether a person with that name has connected before, or was sent something.
    package func isKnown(_ name: String) -> Bool { known.withLock { $0[PathKey(name)] != nil } }

    /// Gives a mailbox to a name from a wire without keys.
    ///
    /// - Returns: why the name gets no mailbox: a person with a key has the name, or there are too many names; nil if
    ///   it has one.
    package func takeUnproven(_ name: String) throws(RecordsError) -> MailRefusal? {
        try loadPeople()
        if isTaken(name) { return .unknown(name) }
        if known.withLock({ $0[PathKey(name)] != nil }) { return nil }
        guard people.isComplete else {
            return .unavailable("The access lists cannot be read, so the server accepts no new name now.")
        }
        if unproven >= Self.mostUnproven { try forgetUnproven() }
        guard unproven < Self.mostUnproven else {
            return .unavailable(
                "The server knows \(Self.mostUnproven) names of older programs already and accepts no more.")
        }
        try keep([KnownPerson(name: name, isUnproven: true)])
        return nil
    }

    /// Remembers people of the lists who have connected or to whom something is sent. Their names stay theirs, even if
    /// the lists no longer have them, or cannot be read.
    package func remember(_ names: [String]) throws(RecordsError) {
        try loadPeople()
        let strangers = known.withLock { known in names.filter { known[PathKey($0)]?.isUnproven ?? true } }
        let persons = strangers.filter { people.isTaken($0) }.map { name in
            KnownPerson(name: name, sealingKey: sealingKey(of: name), isUnproven: false)
        }
        if !persons.isEmpty { try keep(persons) }
    }

    private var unproven: Int { known.withLock { $0.values.count { $0.isUnproven } } }

    /// Makes room for new names: the oldest are forgotten, unless they are connected, or have any delivery.
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
    /// Checks whether an upload can be delivered, before the client sends its content.
    ///
    /// - Parameters:
    ///   - sender: nil for a client without a name.
    ///   - size: bytes of content; nil if unknown.
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

    /// Puts mails into mailboxes, and notifies recipients that watch their mailboxes.
    ///
    /// - Returns: the result for each mail, in order.
    package func queue(
        _ mails: [(mail: Mail, recipients: [String])], isThere: (RelativePath) -> Bool
    ) throws(RecordsError) -> [QueuedMail] {
        let queued = try ledger.queue(mails, limits, isThere: isThere)
        tell(queued.flatMap { queued in if case .queued(let fresh, _, _) = queued { fresh } else { [] as [String] } })
        return queued
    }

    /// Notifies the recipients that watch their mailboxes that mail has arrived.
    package func tell(_ recipients: [String]) { notify(recipients) }
}

// MARK: Receiving

extension Mailroom {
    /// Notes that deliveries were sent to their recipient completely.
    package func fetched(_ deliveries: [Delivery]) throws(RecordsError) {
        notify(Self.senders(of: try ledger.fetched(deliveries, at: utc())))
    }

    /// Records that a recipient has received or declined uploads.
    ///
    /// - Parameter receipts: returns what the recipient has signed of each delivery; see `MailRecords.settle`.
    package func settle(
        _ ids: [UploadID], by recipient: String, as state: DeliveryState,
        receipts: (([Delivery]) -> [[UInt8]]?)? = nil
    ) throws(RecordsError) -> SettledMail {
        let settled = try ledger.settle(ids, by: recipient, as: state, at: utc(), receipts: receipts)
        if let ended = settled.ended { notify(Self.senders(of: ended.deliveries)) }
        return settled
    }

    /// Ends deliveries that have waited for too long, and forgets those that ended long ago.
    ///
    /// - Parameter age: nanoseconds for which a server had the ledger open.
    /// - Returns: the deliveries that ended now.
    package func expire(after age: Int64) throws(RecordsError) -> EndedDeliveries {
        let now = utc()
        var all = EndedDeliveries()
        while true {
            let ended = try ledger.expire(after: age, at: now, limit: Self.expiredAtOnce)
            guard !ended.deliveries.isEmpty else { break }
            all.deliveries += ended.deliveries
            all.freed += ended.freed
        }
        notify(Self.senders(of: all.deliveries))
        // Ended mails are kept for as long again, so that late retries are recognised.
        try ledger.forget(endedBefore: age > .max / 2 ? .max : age * 2)
        return all
    }

    private static func senders(of deliveries: [Delivery]) -> [String] {
        var seen: Set<PathKey> = []
        return deliveries.map(\.mail.sender).filter { seen.insert(PathKey($0)).inserted }
    }
}

// MARK: Who is connected

extension Mailroom {
    /// Notes that a person has connected.
    package func enter(_ name: String, _ connection: Int) { watchers.enter(name, connection) }

    package func leave(_ name: String, _ connection: Int) { watchers.leave(name, connection) }

    /// Calls `notify`, from any thread, whenever there is news for a connected person: mail has arrived, or a mail that
    /// the person has sent has got another state.
    package func watch(_ name: String, _ connection: Int, _ notify: @escaping @Sendable () -> Void) {
        watchers.watch(name, connection, notify)
    }

    /// Notifies watchers of this server, and announces it to other servers.
    private func notify(_ names: [String]) {
        guard !names.isEmpty else { return }
        watchers.notify(names)
        announcement.withLock { $0 }?(names)
    }

    /// - Parameter announce: called, from any thread, with the people whose mail this server has changed; must not block.
    package func announces(_ announce: @escaping @Sendable ([String]) -> Void) {
        announcement.withLock { $0 = announce }
    }

    /// Notifies watchers of what another server has announced.
    package func heard(of names: some Sequence<String>) { watchers.notify(names) }

    /// Notifies all watchers, because an announcement of another server may have been missed.
    package func mayHaveMissed() { watchers.notifyAll() }

    package func isHere(_ name: String) -> Bool { watchers.isHere(name) }

    /// The number of connected names.
    package var visitors: Int { watchers.count }
}
