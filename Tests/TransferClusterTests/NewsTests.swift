import Testing
import TransferAccess
import TransferClusterModel
import TransferKeys
import TransferModel
import TransferPorts
import TransferPostgres
import TransferSystem

@testable import TransferCluster

/// News that arrive.
private final class Heard: Sendable {
    private let news = Monitor([NewsBatch]())

    func add(_ batch: NewsBatch) {
        news.withLock {
            news.state.append(batch)
            news.wakeAll()
        }
    }

    /// Waits for news, removes it and what came before, and returns both. Fails after three minutes.
    @discardableResult
    func wait(for isRight: (NewsBatch) -> Bool) -> [NewsBatch] {
        let deadline = monotonicDeadline(after: 180_000_000_000)
        return news.withLock {
            while true {
                if let index = news.state.firstIndex(where: isRight) {
                    let found = Array(news.state[...index])
                    news.state.removeFirst(index + 1)
                    return found
                }
                guard news.wait(until: deadline) else {
                    Issue.record("the news did not come; there were \(news.state)")
                    return []
                }
            }
        }
    }
}

/// What servers of a cluster say to each other.
@Suite struct NewsTests {
    private static let server = "0123456789abcdef"

    @Test func newsAreJoinedAndBounded() {
        var news = NewsBatch(uploads: [UploadID(1)], people: ["alice"])
        news.add(NewsBatch(uploads: [UploadID(2)], people: ["alice", "bob"], changesAccess: true))
        #expect(news == NewsBatch(uploads: [UploadID(1), UploadID(2)], people: ["bob", "alice"], changesAccess: true))
        news.add(NewsBatch(uploads: (0..<1023).map { UploadID(UInt64($0)) }))
        #expect(news.uploads.isEmpty && news.missesUploads && !news.missesPeople)
        news.add(NewsBatch(uploads: [UploadID(7)], people: (0..<1025).map { "\($0)" }))
        #expect(news.uploads == [UploadID(7)] && news.missesUploads && news.missesPeople && news.people.isEmpty)
        news.add(NewsBatch(people: ["carol"]))
        #expect(news.people.isEmpty)
        var everything = NewsBatch.everything
        everything.add(news)
        #expect(
            everything.missesUploads && everything.changesAccess && NewsBatch().isEmpty && !NewsBatch.reminder.isEmpty)
    }

    /// Names that are equal in Unicode are two people, as everywhere.
    @Test func textsAreReadAgain() throws {
        let names = ["alice", "B\u{fc}ro", "Bu\u{308}ro", " a\nb ", String(repeating: "n", count: 3980)]
        var news = NewsBatch(uploads: (1...1000).map { UploadID($0) }, people: names, changesAccess: true)
        for isMissing in [false, true] {
            if isMissing { news.add(.everything) }
            let texts = NewsPayload.texts(news, from: Self.server)
            #expect(texts.allSatisfy { $0.utf8.count <= PostgresLimits.payloadSize } && texts.count < 12)
            var read = NewsBatch()
            for text in texts { read.add(try #require(NewsPayload.read(text, besides: "0000000000000000"))) }
            #expect(read == news)
            #expect(texts.allSatisfy { NewsPayload.read($0, besides: Self.server) == nil })
        }
        #expect(NewsPayload.texts(NewsBatch(), from: Self.server).isEmpty)
        let long = NewsPayload.texts(NewsBatch(people: [String(repeating: "n", count: 4000)]), from: Self.server)
        #expect(long == ["\(Self.server) M"])
        #expect(NewsPayload.randomServer().utf8.count == 16)
    }

    @Test(arguments: [
        "", " ", "0123", "u1", "\(server)", "\(server) ", "\(server) u", "\(server) u12", "\(server) mzz",
        "\(server) mff",
        "\(server) x y z", "\(server) u\(String(repeating: "g", count: 32))",
    ])
    func otherTextsSayNothing(_ text: String) {
        #expect(NewsPayload.read(text, besides: "0000000000000000") == nil)
    }

    /// An edit by one server holds at another one at once, long before the lists are compared.
    @Test func editedListsAreReadAtOnce() throws {
        let (database, wire) = (ModelDatabase { 1 }, ModelNewsWire())
        let news = [ModelNews(wire), ModelNews(wire)]
        let (one, two) = (
            ClusterAccess(ModelLedger(database), interval: .max, news: news[0]) { 0 },
            ClusterAccess(ModelLedger(database), interval: .max, news: news[1]) { 0 }
        )
        #expect(one.keys.list.entries.isEmpty && two.keys.list.entries.isEmpty)
        try one.admit(AuthorizedKey(KeyPair().key, name: "alice"))
        #expect(two.keys.list.entries.count == 1)
        news[1].cut()
        try one.admit(AuthorizedKey(KeyPair().key, name: "bob"))
        #expect(two.keys.list.entries.count == 1)
        news[1].connect()
        #expect(two.keys.list.entries.count == 2)
    }
}

/// News by notifications of the database.
@Suite(.enabled(if: PostgresServer.isInstalled, "\(PostgresServer.advice)"))
struct PostgresNewsTests {
    private static let long: Int64 = 3_600_000_000_000

    private func news(
        _ configuration: PostgresConfiguration, _ pool: PostgresPool, interval: Int64 = 0, reminder: Int64 = long
    ) throws -> (PostgresNews, Heard) {
        let heard = Heard()
        let news = try PostgresNews(pool, configuration, interval: interval, reminder: reminder)
        news.listen { heard.add($0) }
        return (news, heard)
    }

    /// Waits until what a server posts is heard by another one: its listener may have begun before the handler was added.
    private func connect(_ news: PostgresNews, _ heard: Heard) {
        let mark = NewsBatch(uploads: [UploadID(UInt64.random(in: 1 << 32 ... .max))])
        while true {
            news.post(mark)
            if heard.hears(mark) { return }
        }
    }

    @Test func othersHearAndTheServerItselfDoesNot() throws {
        let server = try PostgresServer.shared.get()
        let configuration = try server.configuration()
        let pool = try PostgresPool(configuration)
        defer { pool.close() }
        let (one, heardByOne) = try news(configuration, pool)
        let (two, heardByTwo) = try news(configuration, pool)
        // Another cluster in the same database hears nothing.
        let other = try server.configuration()
        let otherPool = try PostgresPool(other)
        defer { otherPool.close() }
        let (stranger, heardByStranger) = try news(other, otherPool)
        connect(one, heardByTwo)
        connect(two, heardByOne)
        let sent = NewsBatch(uploads: [UploadID(5)], people: ["alice"], changesAccess: true)
        one.post(sent)
        one.post(NewsBatch(people: ["bob"]))
        var found = NewsBatch()
        for batch in heardByTwo.wait(for: { $0.people.contains(PathKey("bob")) }) { found.add(batch) }
        #expect(found.people == [PathKey("alice"), PathKey("bob")] && found.uploads.contains(UploadID(5)))
        #expect(found.changesAccess)
        two.post(NewsBatch(uploads: [UploadID(6)]))
        let before = heardByOne.wait { $0.uploads.contains(UploadID(6)) }
        #expect(!before.contains { $0.uploads.contains(UploadID(5)) || !$0.people.isEmpty })
        // What is posted before the end is sent.
        one.post(NewsBatch(uploads: [UploadID(8)]))
        one.close()
        heardByTwo.wait { $0.uploads.contains(UploadID(8)) }
        two.close()
        stranger.close()
        #expect(!heardByStranger.all.contains { !$0.uploads.isEmpty || !$0.people.isEmpty })
    }

    /// What happens within an interval is one transaction.
    @Test func newsOfAnIntervalAreJoined() throws {
        let configuration = try PostgresServer.shared.get().configuration()
        let pool = try PostgresPool(configuration)
        defer { pool.close() }
        let (one, _) = try news(configuration, pool, interval: 20_000_000)
        let (two, heard) = try news(configuration, pool)
        connect(one, heard)
        let before = pool.counters.transactions.value
        let begin = monotonicNanoseconds()
        for number in 1...1000 { one.post(NewsBatch(people: ["p\(number % 100)"], changesAccess: number == 1000)) }
        heard.wait { $0.changesAccess }
        let most = UInt64((monotonicNanoseconds() - begin) / 20_000_000 + 2)
        #expect(pool.counters.transactions.value - before <= most)
        one.close()
        two.close()
    }

    @Test func afterALostConnectionEverythingMayHaveChanged() throws {
        let server = try PostgresServer()
        let configuration = try server.configuration()
        let pool = try PostgresPool(configuration)
        defer { pool.close() }
        let (one, heardByOne) = try news(configuration, pool)
        let (two, heard) = try news(configuration, pool)
        connect(one, heard)
        connect(two, heardByOne)
        try server.run("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'LISTEN%'")
        heard.wait { $0 == .everything }
        heardByOne.wait { $0 == .everything }
        one.post(NewsBatch(people: ["alice"]))
        heard.wait { $0.people == [PathKey("alice")] }
        one.close()
        two.close()
    }

    /// News that could not be sent become "anything may have changed".
    @Test func othersLearnThatNewsWereLost() throws {
        let server = try PostgresServer()
        let configuration = try server.configuration()
        var impatient = configuration
        impatient.patience = 100_000_000
        let (pool, otherPool) = (try PostgresPool(impatient), try PostgresPool(configuration))
        defer {
            pool.close()
            otherPool.close()
        }
        let (one, _) = try news(configuration, pool)
        let (two, heard) = try news(configuration, otherPool)
        connect(one, heard)
        server.end("QUIT")
        one.post(NewsBatch(people: ["alice"]))
        try server.start()
        heard.wait { $0 == .everything }
        one.post(NewsBatch(people: ["bob"]))
        heard.wait { $0.missesPeople || $0.people.contains(PathKey("bob")) }
        one.close()
        two.close()
    }

    /// A server is reminded of what others may have failed to say, however much it has to say itself.
    @Test func aServerRemindsItsPeople() throws {
        let configuration = try PostgresServer.shared.get().configuration()
        let pool = try PostgresPool(configuration)
        defer { pool.close() }
        let (one, heard) = try news(configuration, pool, reminder: 1_000_000)
        for number in 0..<3 {
            one.post(NewsBatch(people: ["\(number)"]))
            heard.wait { $0 == .reminder }
        }
        one.close()
    }
}

extension Heard {
    /// All that came and was not removed.
    fileprivate var all: [NewsBatch] { news.withLock { news.state } }

    /// Waits for a moment for news, and removes it and what came before.
    fileprivate func hears(_ wanted: NewsBatch) -> Bool {
        let deadline = monotonicDeadline(after: 200_000_000)
        return news.withLock {
            while true {
                if let index = news.state.firstIndex(of: wanted) {
                    news.state.removeFirst(index + 1)
                    return true
                }
                guard news.wait(until: deadline) else { return false }
            }
        }
    }
}
