import TransferAccess
import TransferCodec
import TransferDatabase
import TransferLedger
import TransferMail
import TransferModel
import TransferPorts
import TransferStore
import TransferSystem
import TransferTestSupport

@testable import TransferCatalog
@testable import TransferIntake

/// An intake with a directory and a catalog in a temporary directory.
final class IntakeFixture {
    let directory: TemporaryDirectory
    let store: FileStore
    let intake: Intake
    private var connections = 0

    /// - Parameters:
    ///   - people: people who have a mailbox.
    ///   - calls: database calls of the ledger; nil for an intake without mailboxes.
    init(limits: SpaceLimits = SpaceLimits(), people: [MailPerson] = [], calls: DatabaseCalls? = nil) throws {
        directory = try TemporaryDirectory(prefersMemory: true)
        store = try FileStore(path: directory.path("store"), limits: limits)
        intake = Self.intake(
            store, in: directory, try calls.map { [directory] in try Self.mailroom(directory, people, $0) })
    }

    private static func mailroom(
        _ directory: TemporaryDirectory, _ people: [MailPerson], _ calls: DatabaseCalls
    ) throws -> Mailroom {
        let ledger = try MailLedger(path: directory.path("mail"), isDurable: true, calls: calls)
        return Mailroom(.success(ledger), ListedPeople(people: people), MailLimits(bytes: 1 << 20))
    }

    /// Starts another server in the directory of a killed one, whose memory is lost.
    init(after other: IntakeFixture, disk: Disk = Disk()) throws {
        other.store.unlock()
        directory = other.directory
        store = try FileStore(path: directory.path("store"), durability: .commit, fileSystem: nil, disk: disk)
        _ = try store.removeLeftovers()
        intake = Self.intake(store, in: directory)
        intake.known.load()
    }

    /// Starts another server, with less room, in the directory of one that has ended.
    init(in directory: TemporaryDirectory, limits: SpaceLimits, people: [MailPerson]) throws {
        self.directory = directory
        store = try FileStore(path: directory.path("store"), limits: limits)
        intake = Self.intake(store, in: directory, try Self.mailroom(directory, people, DatabaseCalls()))
    }

    /// Starts a server with failing calls, or in the directory of one that has ended.
    ///
    /// - Parameter mark: mark of the directory; nil if the server never considers the directory a copy.
    init(
        in directory: TemporaryDirectory, disk: Disk = Disk(), fileSystem: FileSystem? = nil,
        calls: DatabaseCalls = DatabaseCalls(), clock: IntakeClock = .system, mark: DirectoryMark? = nil,
        report: @escaping @Sendable (IntakeEvent) -> Void = { _ in }
    ) throws {
        self.directory = directory
        store = try FileStore(path: directory.path("store"), durability: .commit, fileSystem: fileSystem, disk: disk)
        let file = CatalogFile(path: directory.path("catalog"), isDurable: true, calls: calls)
        let catalog = Catalog(CatalogConnections(file, retryInterval: 0) { _ in })
        intake = Self.intake(store, catalog, clock: clock, mark: mark, report: report)
    }

    /// Ends the server. Records that its catalog has not committed are lost.
    func end() {
        intake.known.close()
        store.unlock()
    }

    private static func intake(_ store: FileStore, in directory: TemporaryDirectory, _ mailroom: Mailroom? = nil)
        -> Intake
    {
        intake(store, Catalog(path: directory.path("catalog"), isDurable: false) { _ in }, mailroom)
    }

    private static func intake(
        _ store: FileStore, _ catalog: Catalog, _ mailroom: Mailroom? = nil, clock: IntakeClock = .system,
        mark: DirectoryMark? = nil, report: @escaping @Sendable (IntakeEvent) -> Void = { _ in }
    ) -> Intake {
        Intake(
            Intake.Configuration(maximumMultiparts: 8, filesAtOnce: 100, maximumUpload: 1 << 40, keepUnfinished: .max),
            store: store, records: catalog, signer: nil, mailroom: mailroom, mark: mark, clock: clock, report: report)
    }

    deinit { intake.known.close() }

    /// Opens a connection of a client with this name.
    func session(of name: String, _ options: AccessOptions = AccessOptions()) -> IntakeSession {
        connections += 1
        let way = IntakeSession.Connection(number: connections) { work in work() }
        let caller = Caller(Grant(.token(name), name: name, options: options), UploadScope(), peer: "test")
        return IntakeSession(intake, way, caller: caller)
    }

    /// Opens a connection of the client without a name.
    func session() -> IntakeSession {
        connections += 1
        let way = IntakeSession.Connection(number: connections) { work in work() }
        return IntakeSession(intake, way, caller: Caller(peer: "test"))
    }

    var files: [String] { names(in: directory.path("store")).filter { $0 != ".transfer" }.sorted() }

    static func digest(_ content: [UInt8]) -> Digest {
        let digester = ContentDigester(.xxh128)
        content.withUnsafeBytes { digester.update($0) { _, _ in } }
        return digester.finish().digest
    }
}

struct ListedPeople: MailPeople {
    let people: [MailPerson]

    func person(_ name: String) -> MailPerson? { people.first { $0.name.hasSameBytes(as: name) } }
}

extension IntakeSession {
    /// Sends all of an upload and seals it.
    ///
    /// - Returns: the outcome; nil if the upload waits for its publication.
    func bring(_ intent: UploadIntent, _ content: [UInt8], declared: DeclaredEnd? = nil) throws -> UploadOutcome? {
        let begun = begin(intent, mayEnd: false)
        if let outcome = begun.outcome { return outcome }
        try content.withUnsafeBytes { try begun.upload.write($0) }
        let end = declared ?? DeclaredEnd(size: UInt64(content.count), digest: IntakeFixture.digest(content))
        return try finish(begun.upload, end)
    }

    /// Sends an upload as a single part, and its end.
    func bringInParts(_ intent: UploadIntent, _ content: [UInt8]) throws -> UploadOutcome? {
        var part = intent
        (part.id, part.extent) = (.random(), .part(UploadPart(of: intent.id, offset: 0, total: UInt64(content.count))))
        _ = try bring(part, content)
        return try finishParts(intent, content)
    }

    func finishParts(_ intent: UploadIntent, _ content: [UInt8]) throws -> UploadOutcome? {
        var end = intent
        end.extent = .multipart
        return try bring(
            end, [], declared: DeclaredEnd(size: UInt64(content.count), digest: IntakeFixture.digest(content)))
    }

    /// Publishes and acknowledges the waiting uploads.
    func outcomes() -> [UploadOutcome] {
        publish().ended.map(\.outcome) + acknowledge().flatMap(\.uploads).map(\.outcome)
    }
}
