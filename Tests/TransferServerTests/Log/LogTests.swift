import Testing
import TransferModel
import TransferProtocol
import TransferTestSupport

@testable import TransferServer

extension ServerTests {
    /// Lines that the server logs about its work.
    @Suite(.directoryOnly) struct LogTests {
        private func lines(
            _ format: Log.Format, _ level: LogEvent.Level, _ body: @escaping @Sendable (TestServer) throws -> Void
        ) async throws -> [String] {
            try await logged(format, level, { $0.maximumUpload = 1000 }, in: TemporaryDirectory(), body)
        }

        /// Sends a valid upload with an odd name, one that fails, and bytes that break the protocol.
        private static func conversation(_ server: TestServer) throws {
            let client = try server.greetedClient()
            client.send(Frames.upload("a\n\u{1B}[31m\"b\\\u{202E}", [1, 2]))
            #expect(try client.result().code == .committed)
            client.send(Frames.upload("../x", [1]))
            #expect(try client.result().code == .invalidPath)
            client.send([9, 9])
            try client.waitForClose()
        }

        @Test func textLinesEscapeNames() async throws {
            let lines = try await lines(.text, .debug, Self.conversation)
            let start = #/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z (debug|info|warning|error) /#
            for line in lines {
                #expect(line.unicodeScalars.allSatisfy { $0.value >= 0x20 && $0.value != 0x202E }, "\(line)")
                #expect(line.prefixMatch(of: start) != nil, "\(line)")
            }
            #expect(lines.contains { $0.contains(" info listening on 127.0.0.1:") })
            #expect(lines.contains { $0.contains(#" info committed a\n\u{1b}[31m"b\\\u{202e}, 2 bytes in "#) })
            #expect(lines.contains { $0.contains(" warning invalidPath ../x, 0 bytes: ") })
            #expect(
                lines.contains {
                    $0.contains(" warning connection from 127.0.0.1:") && $0.contains("unsupportedVersion")
                })
            #expect(lines.contains { $0.contains(" debug connection from 127.0.0.1:") })
            #expect(lines.last?.hasSuffix(" info stopped") ?? false, "\(lines)")
        }

        @Test func jsonLinesAreObjects() async throws {
            let lines = try await lines(.json, .debug, Self.conversation)
            var events: Set<String> = []
            for line in lines {
                let object = try #require(FlatObject(line), "\(line)")
                let event = try #require(object["event"])
                events.insert(event)
                #expect(object["time"] != nil)
                #expect(object["level"] != nil)
                guard event == #""stored""# else { continue }
                #expect(object["result"] == #""committed""#)
                #expect(object["size"] == "2")
                #expect(object["client"] == "null")
                #expect(object["durable"] == "true")
            }
            let expected = ["listening", "connected", "stored", "failed", "protocolError", "stopping", "stopped"]
            #expect(events.isSuperset(of: expected.map { "\"\($0)\"" }), "\(events)")
        }

        /// Lookups of an unchanged tree do not fill the log with lines.
        @Test func whatIsKnownIsOneLine() async throws {
            let ids = (1...5 as ClosedRange<UInt64>).map { UploadID(high: 1, low: $0) }
            let lines = try await lines(.text, .info) { server in
                let client = try server.greetedClient()
                let frames = ids.flatMap { Frames.upload("d/\($0.low)", [1], id: $0) }
                #expect(try client.codes(ids.count, to: frames).allSatisfy { $0 == .committed })
                #expect(try client.lookUp(ids + [UploadID(high: 2, low: 1)]).known.count == ids.count)
                #expect(try client.lookUp([UploadID(high: 2, low: 1)]).known.isEmpty)
            }
            #expect(lines.filter { $0.contains(" info committed ") }.count == ids.count)
            #expect(lines.filter { $0.contains(" are stored already") }.count == 1)
            #expect(lines.contains { $0.contains(" info 5 uploads of 127.0.0.1:") })
        }

        @Test func onlyWhatIsGraveEnough() async throws {
            let lines = try await lines(.text, .warning, Self.conversation)
            #expect(lines.count == 2, "\(lines)")
            #expect(lines.allSatisfy { $0.contains(" warning ") })
        }

        /// A server updates its catalog in the background when its last client leaves. A stop at that moment waits for
        /// the update: otherwise the catalog would be closed first, and the log would report a failure.
        @Test func aStopWaitsForBackgroundJobs() async throws {
            for _ in 1...20 {
                let lines = try await lines(.text, .warning) { server in
                    let client = try server.greetedClient()
                    client.send(Frames.upload("a", [1, 2]))
                    #expect(try client.result().code == .committed)
                    client.endSending()
                    try client.waitForClose()
                }
                #expect(lines.isEmpty, "\(lines)")
            }
        }

        /// A client that causes one failure after the other gets a result and a line of the log for each.
        @Test func aClientsFailuresAreLoggedOnceEach() async throws {
            let count = 2000
            let lines = try await lines(.text, .info) { server in
                let client = try server.greetedClient()
                for number in 0..<count {
                    let isLong = number % 2 == 0
                    client.send(
                        isLong
                            ? Frames.begin("long", size: nil) + Frames.encoded(.abort) : Frames.upload("../x", [1]))
                    #expect(try client.result().code == (isLong ? .aborted : .invalidPath))
                }
                client.endSending()
                try client.waitForClose()
            }
            let warnings = lines.filter { $0.contains(" warning ") }
            #expect(warnings.count { $0.contains(" aborted long") } == 1)
            #expect(warnings.count { $0.contains(" invalidPath ../x") } == 1)
            #expect(warnings.last?.contains(" 1998 more uploads from 127.0.0.1:") ?? false)
            #expect(warnings.last?.hasSuffix(" failed: 999 invalidPath, 999 aborted") ?? false)
            #expect(warnings.count == 3)
            #expect(lines.count < 30)
        }

        @Test func manyConnectionsFaultsAreCounted() async throws {
            let count = 3 * LogThrottle.burst
            let lines = try await lines(.json, .info) { server in
                for _ in 0..<count {
                    let client = try server.client()
                    client.send([9, 9])
                    try client.waitForClose()
                }
            }
            let events = lines.compactMap { FlatObject($0) }
            let faults = events.count { $0["event"] == "\"protocolError\"" }
            let suppressed = events.filter { $0["event"] == "\"linesSuppressed\"" }
                .compactMap { $0["count"].flatMap { Int($0) } }
            #expect(faults >= LogThrottle.burst && faults < count)
            #expect(faults + suppressed.reduce(0, +) == count)
        }

        @Test func aLongUploadThatIsLostIsNamed() async throws {
            let lines = try await lines(.text, .info) { server in
                var client: RawClient? = try server.greetedClient()
                client?.send(Frames.begin("long", size: nil, expectsAccept: true))
                try client?.expectAccept()
                client = nil
                try server.waitUntil("the part is gone") { server.parts.isEmpty }
            }
            #expect(lines.contains { $0.hasSuffix(" info started long, size unknown") })
            #expect(lines.contains { $0.hasSuffix(" warning connection lost during the upload of long after 0 bytes") })
        }

        @Test func levelsAreOrderedAndNamed() {
            #expect(LogEvent.Level(name: "warning") == .warning)
            #expect(LogEvent.Level(name: "loud") == nil)
            #expect(LogEvent.Level.allCases == LogEvent.Level.allCases.sorted())
        }
    }
}

@Suite struct LogTextTests {
    @Test(arguments: [0, 0.004, 0.0005, 0.05, 7, 12.3456, 59.9996, 999_999.95, 1e12, -1.25, .infinity, .nan])
    func numbersAreSaidAsElsewhere(_ number: Double) {
        for decimals in 1...3 {
            var text = LogText(capacity: 0)
            text.append(number, decimals: decimals)
            #expect(text.string == number.shown(decimals: decimals))
        }
    }

    @Test func piecesStandInTheirOrder() {
        var text = LogText(capacity: 4)
        for piece in ["", "é", " "] { text.append(piece) }
        text.append(UInt64.max)
        #expect(text.string == "é 18446744073709551615")
    }
}
