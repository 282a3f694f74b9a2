import Testing
import TransferAccess
import TransferClassic
import TransferModel
import TransferServer
import TransferTestSupport

@testable import TransferClient

/// Pushes to a Transfer server in its classic framings.
@Suite(.timeLimit(.minutes(10))) struct ClassicPushServerTests {
    private static let sized = ClassicFraming.sized(total: .whole, isAnswered: true)
    private static let png: [UInt8] =
        [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A] + [UInt8](repeating: 7, count: 700_000)

    private func pushing(
        _ target: ClassicTarget, _ uploads: [Upload], limit: String? = nil,
        _ body: (Outcome, RunningServer) throws -> Void
    ) async throws {
        let access = try AccessOptions(limit.map { [("max-upload", $0)] } ?? [])
        let running = try await RunningServer(in: TemporaryDirectory()) { configuration in
            let endpoint = ServerAddress("127.0.0.1:0")?.endpoint
            configuration.classic = endpoint.map { [ClassicListener(target.framing, on: $0, access)] } ?? []
        }
        let endpoint = try #require(await running.server.classicEndpoints.first)
        let outcome = try await ServerAddress(endpoint, folder: "").outcome(uploads) { $0.classic = target }
        await running.stop()
        try body(outcome, running)
    }

    private static let uploads: [Upload] = [
        .bytes(png, name: "a.png"), .bytes([], name: "b.txt", kind: .text), .text("hello", name: "c.txt"),
        .bytes(png, name: "d.png"),
    ]

    @Test func sizedIsStoredAndNotVerified() async throws {
        try await pushing(ClassicTarget(Self.sized), Self.uploads) { outcome, running in
            #expect(outcome.failure == nil && outcome.connections == 1 && outcome.losses == [])
            #expect(outcome.codes == [.stored, .stored, .stored, .stored])
            for report in outcome.reports {
                #expect(report.result.isSuccess && !report.isVerified && !report.isDurable)
                #expect(report.storedPath == nil && report.digest == nil && report.attempts == 1)
            }
            #expect(running.tree.count == 4)
            #expect(running.tree.filter { running.stored($0) == Self.png }.count == 2)
        }
    }

    @Test(arguments: [ClassicFraming.header7, .tagged37], [false, true])
    func messagesAreVerified(_ framing: ClassicFraming, _ isCompressed: Bool) async throws {
        try await pushing(ClassicTarget(framing, as: ClassicParty(isCompressed: isCompressed)), Self.uploads) {
            outcome, running in
            #expect(outcome.failure == nil && outcome.codes == [.committed, .committed, .committed, .committed])
            #expect(running.tree == ["a.png", "b.txt", "c.txt", "d.png"])
            #expect(running.stored("a.png") == Self.png && running.stored("b.txt") == [])
            for report in outcome.reports {
                #expect(report.isVerified && !report.isDurable)
                #expect(report.storedPath == report.source && "\(report.digest, default: "")".hasPrefix("sha256:"))
            }
        }
    }

    @Test func nothingAnswersAndAllArrives() async throws {
        for total in SizedTotal.allCases {
            let target = ClassicTarget(.sized(total: total, isAnswered: false))
            try await pushing(target, Self.uploads) { outcome, running in
                #expect(outcome.failure == nil && outcome.losses == [])
                #expect(outcome.codes == [.unacknowledged, .unacknowledged, .unacknowledged, .unacknowledged])
                #expect(running.tree.count == 4)
                #expect(running.tree.filter { running.stored($0) == Self.png }.count == 2)
            }
        }
    }

    /// A refusal concerns a single upload, and the others go on, on the same connection or another.
    @Test(arguments: [sized, .header7, .tagged37]) func aRefusalIsOneUploads(_ framing: ClassicFraming) async throws {
        try await pushing(ClassicTarget(framing), Self.uploads, limit: "1000") { outcome, running in
            #expect(outcome.failure == nil)
            let refusal: ResultCode = framing.name == Self.sized.name ? .storageFailed : .uploadTooLarge
            let success: ResultCode = framing.name == Self.sized.name ? .stored : .committed
            #expect(outcome.codes == [refusal, success, success, refusal])
            #expect(running.tree.count == 2 && running.parts.isEmpty)
        }
    }

    /// If the framing sends the size first, the client holds the whole stream; otherwise it does not.
    @Test(arguments: [sized, .header7]) func streams(_ framing: ClassicFraming) async throws {
        let source = PieceSource([Self.png, Self.png])
        let upload = Upload.stream(source, name: "s.png", kind: .picture)
        try await pushing(ClassicTarget(framing), [upload]) { outcome, running in
            #expect(outcome.codes == [framing.name == Self.sized.name ? .stored : .committed])
            #expect(running.tree.count == 1 && outcome.reports.first?.size == UInt64(2 * Self.png.count))
            #expect(running.stored(running.tree.first ?? "") == Self.png + Self.png)
        }
    }

    @Test func whatDoesNotFit() async throws {
        let long = PieceSource([[UInt8](repeating: 65, count: ClassicTarget.mostHeld + 1)])
        let uploads: [Upload] = [
            .bytes([0, 1, 2, 255], name: "file"), .stream(long, name: "long", kind: .text),
            .stream(PieceSource([[1]], breaks: true), name: "broken", kind: .text), .path("/nowhere/at/all"),
            .text("fits", name: "fits"),
        ]
        try await pushing(ClassicTarget(Self.sized), uploads) { outcome, running in
            #expect(outcome.failure == nil)
            #expect(
                outcome.codes == [.unsuitable, .unsuitable, .sourceUnreadable, .sourceUnreadable, .stored],
                "\(outcome.reports)")
            #expect(running.tree.count == 1)
        }
    }

    /// An upload from a stream that breaks is aborted, and the next upload goes on.
    @Test func aBrokenStreamIsTakenBack() async throws {
        let broken = Upload.stream(PieceSource([Self.png], breaks: true), name: "broken.png")
        try await pushing(ClassicTarget(.header7), [broken, .text("next", name: "next")]) { outcome, running in
            #expect(outcome.codes == [.sourceUnreadable, .committed] && outcome.connections == 1)
            #expect(running.tree == ["next"] && running.parts.isEmpty)
        }
    }
}
