import Glibc
import Testing
import TransferSystem
import TransferTestSupport

@testable import TransferPostgres

/// Servers that speak another protocol, lie, or break off: errors, and no trap.
@Suite(.enabled(if: (try? PostgresLibrary.installed.get()) != nil, "libpq is not installed"))
struct HostileServerTests {
    /// Answers each connection alike: with one part after its first message and one after each Sync. Closes behind the
    /// last part.
    private final class Peer: Sendable {
        let port: UInt16
        private let listener: Int32

        init(_ parts: [[UInt8]]) throws {
            (listener, port) = try Loopback.listen()
            let listener = listener
            _ = TestThread {
                while let client = try? system("accept", { accept(listener, nil, nil) }) {
                    _ = TestThread { Self.serve(client, parts) }
                }
                close(listener)
            }
        }

        deinit {
            shutdown(listener, Int32(SHUT_RDWR))
        }

        private static func serve(_ client: Int32, _ parts: [[UInt8]]) {
            var buffer = [UInt8](repeating: 0, count: 65536)
            var (received, sent, syncs) = (MessageCounter(), 0, 0)
            while sent < parts.count {
                let count = recv(client, &buffer, buffer.count, 0)
                guard count > 0 else { break }
                syncs += received.take(buffer[..<count])
                while sent < min(syncs, parts.count) {
                    _ = parts[sent].withUnsafeBytes { send(client, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
                    sent += 1
                }
            }
            shutdown(client, Int32(SHUT_WR))
            // An unread request would make the kernel drop the answer.
            while recv(client, &buffer, buffer.count, 0) > 0 {}
            close(client)
        }
    }

    /// Finds the messages of a client that want an answer: the first one, which has no type, and each Sync.
    private struct MessageCounter {
        private var bytes: [UInt8] = []
        private var isFirst = true

        mutating func take(_ more: ArraySlice<UInt8>) -> Int {
            bytes += more
            var found = 0
            while true {
                let start = isFirst ? 0 : 1
                guard bytes.count >= start + 4 else { return found }
                let size = start + bytes[start..<start + 4].reduce(0) { $0 << 8 | Int($1) }
                guard bytes.count >= size else { return found }
                if isFirst || bytes[0] == UInt8(ascii: "S") { found += 1 }
                isFirst = false
                bytes.removeFirst(size)
            }
        }
    }

    /// Divides the answers of a session behind each ReadyForQuery.
    private static func parts(_ answers: [UInt8]) -> [[UInt8]] {
        var (parts, start, offset) = ([[UInt8]](), 0, 0)
        while offset + 5 <= answers.count {
            let isReady = answers[offset] == UInt8(ascii: "Z")
            offset += 1 + answers[offset + 1..<offset + 5].reduce(0) { $0 << 8 | Int($1) }
            guard isReady, offset <= answers.count else { continue }
            parts.append(Array(answers[start..<offset]))
            start = offset
        }
        return parts
    }

    private static func configuration(_ port: UInt16) throws -> PostgresConfiguration {
        let options = "sslmode=disable&gssencmode=disable"
        return PostgresConfiguration(try PostgresAddress("postgres://transfer@127.0.0.1:\(port)/postgres?\(options)"))
    }

    private static func connector(_ port: UInt16) throws -> PostgresConnector {
        PostgresConnector(try configuration(port), library: try PostgresLibrary.require(), counters: PostgresCounters())
    }

    private static func number<Number: FixedWidthInteger>(_ number: Number) -> [UInt8] {
        withUnsafeBytes(of: number.bigEndian) { Array($0) }
    }

    private static func message(_ type: Character, _ body: [UInt8], length: Int32? = nil) -> [UInt8] {
        Array(String(type).utf8) + number(length ?? Int32(body.count + 4)) + body
    }

    private static func setting(_ name: String, _ value: String) -> [UInt8] {
        message("S", Array("\(name)\0\(value)\0".utf8))
    }

    private static let welcome: [UInt8] = message("R", number(Int32(0)))
    private static let ready: [UInt8] = message("Z", [UInt8(ascii: "I")])

    /// A session that has begun, on a server that is a primary.
    private static let handshake: [UInt8] =
        welcome + setting("server_version", "15.0") + setting("client_encoding", "UTF8")
        + setting("default_transaction_read_only", "off") + setting("in_hot_standby", "off")
        + message("K", number(Int32(7)) + number(Int32(8))) + ready

    private static let prepared = message("1", [])
    private static let bound = message("2", [])

    /// The description of columns of a type in a format, and a row.
    private static func rows(_ type: UInt32, format: Int16 = 1, columns: Int16 = 1, _ row: [UInt8]) -> [UInt8] {
        let column =
            Array("c\0".utf8) + number(Int32(0)) + number(Int16(0)) + number(type) + number(Int16(8))
            + number(Int32(-1)) + number(format)
        return prepared + message("t", number(Int16(0))) + message("T", number(columns) + column)
            + bound + message("T", number(columns) + column) + message("D", row)
            + message("C", Array("SELECT 1\0".utf8))
    }

    private static func text(_ text: String) -> [UInt8] { Array(text.utf8) }

    static let answers: [(begin: [UInt8], rest: [UInt8])] = begins.map { ($0, []) } + rests.map { (handshake, $0) }

    /// Bytes in answer to the first message.
    private static let begins: [[UInt8]] = [
        [],
        [0],
        text("HTTP/1.1 400 Bad Request\r\n\r\n"),
        Array(repeating: 0xFF, count: 4096),
        SplitMix64.bytes(seed: 9, 100_000),
        welcome,
        Array(handshake.dropLast()),
        handshake,
        message("R", number(Int32(99))),
        message("R", number(Int32(10)) + text("NONE\0\0")),
        message("R", []),
        message("R", number(Int32(5)) + [1, 2, 3, 4]),
        message("R", number(Int32(0)), length: .max),
        message("R", number(Int32(0)), length: -1),
        message("R", number(Int32(0)), length: 0),
        message("E", text("SFATAL\0VFATAL\0C28P01\0Mno\0\0")),
        message("E", text("SFATAL")),
        message("E", [0]),
        message("E", text("C\0\0")),
        message("E", text("SFATAL\0VFATAL\0CXXXXXXXXXXXX\0M\0\0")),
        welcome + setting("server_version", "9.6") + ready,
        welcome + setting("server_version", "x") + ready,
        welcome + ready,
    ]

    /// Bytes in answer to the first statements.
    private static let rests: [[UInt8]] = [
        ready + ready,
        message("Z", [UInt8(ascii: "?")]),
        message("E", text("SERROR\0VERROR\0C23505\0Mno\0n\u{1}\0\0")),
        message("E", text("SFATAL\0VFATAL\0C57P01\0Mgo\0\0")),
        message("N", text("SWARNING\0VWARNING\0C01000\0Mhm\0\0")) + ready,
        message("C", text("SELECT 1\0")),
        message("D", number(Int16(1)) + number(Int32(-5))),
        message("D", number(Int16(-1))),
        message("T", number(Int16.max)),
        rows(16, number(Int16(1)) + number(Int32(1)) + [1]) + ready,
        rows(25, number(Int16(1)) + number(Int32.max) + [1]) + ready,
        rows(25, number(Int16(1)) + number(Int32(-7))) + ready,
        rows(25, number(Int16(9)) + number(Int32(0))) + ready,
        rows(25, columns: -1, number(Int16(1)) + number(Int32(0))) + ready,
        rows(25, format: 0, number(Int16(1)) + number(Int32(2)) + [0xC3, 0x28]) + ready,
        prepared + prepared + bound + bound + ready,
        message("G", [0, 0, 0]),
        message("H", [0, 0, 0]),
        message("W", [0, 0, 0]),
        message("A", number(Int32(1))),
        message("A", number(Int32(1)) + text("channel\0payload\0")) + ready,
        message("v", []),
        message("s", []),
        message("I", []) + ready,
        message("n", []) + ready,
    ]

    @Test(arguments: answers.indices) func connectingFailsWithAnError(_ index: Int) throws {
        let (begin, rest) = Self.answers[index]
        let peer = try Peer(rest.isEmpty ? [begin] : [begin, rest])
        let connector = try Self.connector(peer.port)
        let error = #expect(throws: PostgresError.self) {
            try connector.connect(until: monotonicDeadline(after: 180_000_000_000))
        }
        #expect(error?.message.isEmpty == false)
    }

    /// A peer that answers nothing and stays.
    @Test func aSilentServerIsLeftWhenTheTimeIsOver() throws {
        let (listener, port) = try Loopback.listen()
        defer { close(listener) }
        let connector = try Self.connector(port)
        let error = #expect(throws: PostgresError.self) {
            try connector.connect(until: monotonicDeadline(after: 50_000_000))
        }
        #expect(error?.reason == .unavailable && error?.message.contains("in time") == true)
    }

    // MARK: A recorded session

    /// What a node does with a server: connects, writes arrays, reads them, listens.
    private static func work(_ configuration: PostgresConfiguration) throws -> [[UInt8]?] {
        let connector = PostgresConnector(
            configuration, library: try PostgresLibrary.require(), counters: PostgresCounters())
        let deadline = monotonicDeadline(after: 180_000_000_000)
        let (connection, _) = try connector.connect(until: deadline)
        let transaction = PostgresTransaction(
            on: connection, .readCommitted, isReadOnly: false, counters: PostgresCounters(), deadline: deadline)
        let value = PostgresValue.byteStrings([[1, 2, 3], nil, [], Array(repeating: 7, count: 300)])
        let rows = try transaction.run([
            PostgresStatement(
                "SELECT $1::bytea[], 'text', true, NULL::int8, ARRAY[1, NULL]::int8[] FROM generate_series(1, 3)",
                [value]),
            PostgresStatement("LISTEN recorded"), PostgresStatement("SELECT pg_notify('recorded', 'x') IS NULL"),
        ])
        _ = transaction.commit()
        _ = try connection.takeNotifications()
        let first = try #require(rows.first)
        for row in 0..<first.count {
            _ = (
                try first.text(row, 1), try first.boolean(row, 2), try first.optionalInteger(row, 3),
                try first.integers(row, 4)
            )
        }
        return try first.byteStrings(2, 0)
    }

    @Test(.enabled(if: PostgresServer.isInstalled, Comment(rawValue: PostgresServer.advice)))
    func damagedAnswersEndNothing() throws {
        let relay = try Relay(to: try PostgresServer.shared.get().socket)
        let expected = try Self.work(try Self.configuration(relay.port))
        let parts = Self.parts(relay.answers)
        #expect(expected.count == 4 && parts.count == 4)
        // The recording is complete: played as it is, it gives the same.
        let peer = try Peer(parts)
        #expect(try Self.work(try Self.configuration(peer.port)) == expected)

        var random = SplitMix64(seed: 20)
        for round in 0..<400 {
            var damaged = parts
            let part = Int.random(in: damaged.indices, using: &random)
            for _ in 0..<Int.random(in: 1...3, using: &random) {
                let offset = Int.random(in: damaged[part].indices, using: &random)
                damaged[part][offset] = UInt8.random(in: .min ... .max, using: &random)
            }
            if round % 4 == 0 { damaged[part].removeLast(Int.random(in: damaged[part].indices, using: &random)) }
            // The rest follows at once, so that a client that waits for a longer message gets it, or the end.
            damaged[part] += damaged[(part + 1)...].joined()
            damaged.removeLast(damaged.count - part - 1)
            let peer = try Peer(damaged)
            _ = try? Self.work(try Self.configuration(peer.port))
        }
    }
}
