import Glibc
import Synchronization
import Testing
import TransferModel
import TransferSystem
import TransferTestSupport

@testable import TransferGallery

/// Orders of thumbnails, with decoders that the tests choose.
@Suite struct GalleryTests {
    /// A gallery with a cache and pictures in a folder of its own.
    private final class Fixture {
        let folder: TemporaryDirectory
        let gallery: Gallery

        init(
            _ helper: (TemporaryDirectory) throws -> DescriptorChannel?, background: (any Gallery.Background)? = nil,
            report: @escaping @Sendable (Gallery.Problem) -> Void = { _ in }
        ) throws {
            folder = try TemporaryDirectory()
            let settings = Gallery.Settings(
                cachePath: folder.path("thumbs.sqlite"), cacheSize: 1 << 20, decoders: 1)
            gallery = try Gallery(
                settings, helper: try helper(folder), background: background, report: report)
        }

        deinit { gallery.close() }

        func picture(_ number: UInt64 = 1) throws -> StoredPicture { try GalleryTests.picture(number, in: folder) }
    }

    fileprivate static func picture(_ number: UInt64, in folder: TemporaryDirectory) throws -> StoredPicture {
        let path = folder.path("picture \(number)")
        try #require(writeFile([1, 2, 3], to: path))
        let file = Descriptor(open(path, O_RDONLY | O_CLOEXEC))
        let version = ContentVersion(object: number, revision: 1, touch: 1, size: 3)
        return StoredPicture(PictureKey(version, nil, in: nil), .init(file), size: 3)
    }

    private static func outcome(_ ticket: ThumbnailTicket) async -> PictureOutcome? {
        await withCheckedContinuation { continuation in
            let isTold = Atomic(false)
            ticket.watch(1) {
                if !isTold.exchange(true, ordering: .relaxed) { continuation.resume() }
            }
        }
        ticket.leave(1)
        return ticket.outcome
    }

    @Test func anOrderedThumbnailIsMadeOnceAndKept() async throws {
        let report = PictureReportTests.complete
        let fixture = try Fixture { try Decoders.helper(reporting: report.bytes, in: $0) }
        let picture = try fixture.picture()
        #expect(fixture.gallery.find(picture.key, .small) == nil)
        #expect(!fixture.gallery.isUsed)
        let ticket = try fixture.gallery.order(picture, .small, for: 1)
        #expect(await Self.outcome(ticket) == .report(report))
        #expect(fixture.gallery.find(picture.key, .small)?.thumbnail == report.thumbnail)
        #expect(fixture.gallery.summaries([picture.key]) == [report.summary])
        #expect(fixture.gallery.isUsed)
    }

    /// One decoder works for all who want the same at once.
    @Test func thoseWhoWantTheSameShareAnOrder() async throws {
        let fixture = try Fixture { folder in
            try #require(writeFile(PictureReportTests.complete.bytes, to: folder.path("report")))
            return try Decoders.helper(
                script: "echo x >> '\(folder.path("runs"))'; cat '\(folder.path("report"))'")
        }
        let picture = try fixture.picture()
        var tickets: [ThumbnailTicket] = []
        for client in 1...20 { tickets.append(try fixture.gallery.order(picture, .small, for: client)) }
        for ticket in tickets {
            #expect(await Self.outcome(ticket) == .report(PictureReportTests.complete))
        }
        // Those that came after the report could order it once more.
        let runs = try #require(readFile(fixture.folder.path("runs"))).count / 2
        #expect((1...20).contains(runs))
    }

    /// Bytes in place of a report.
    enum Nonsense: CaseIterable {
        case nothing, tooLong, markup, noise

        var bytes: [UInt8] {
            switch self {
            case .nothing: []
            case .tooLong: [0, 0, 0, 200] + [UInt8](repeating: 0x7B, count: 50)
            case .markup: Array("<html>".utf8)
            case .noise: [UInt8](repeating: 0xFF, count: PictureReport.mostBytes)
            }
        }
    }

    @Test(arguments: Nonsense.allCases) func aDecoderThatAnswersNonsenseHasFailed(_ answer: Nonsense) async throws {
        let fixture = try Fixture { try Decoders.helper(reporting: answer.bytes, in: $0) }
        let picture = try fixture.picture()
        let ticket = try fixture.gallery.order(picture, .large, for: 1)
        #expect(await Self.outcome(ticket) == .report(PictureReport(refusal: .failed)))
        #expect(fixture.gallery.find(picture.key, .large)?.refusal == .failed)
    }

    @Test func aKilledDecoderIsRemembered() async throws {
        let fixture = try Fixture { _ in try Decoders.helper(script: "kill -SYS $$") }
        let picture = try fixture.picture()
        let ticket = try fixture.gallery.order(picture, .small, for: 1)
        #expect(await Self.outcome(ticket) == .report(PictureReport(refusal: .failed)))
        #expect(fixture.gallery.find(picture.key, .small)?.refusal == .failed)
        // The next picture has a decoder of its own.
        let other = try fixture.gallery.order(try fixture.picture(2), .small, for: 1)
        #expect(await Self.outcome(other) == .report(PictureReport(refusal: .failed)))
    }

    /// What was decoded while the file was written says nothing about the content that its key stands for.
    @Test func aFileThatChangesMeanwhileIsNotRemembered() async throws {
        let fixture = try Fixture { folder in
            try #require(writeFile(PictureReportTests.complete.bytes, to: folder.path("report")))
            return try Decoders.helper(
                script: "echo more >> '\(folder.path("picture 1"))'; cat '\(folder.path("report"))'")
        }
        let picture = try fixture.picture()
        let ticket = try fixture.gallery.order(picture, .small, for: 1)
        #expect(await Self.outcome(ticket) == .report(PictureReportTests.complete))
        #expect(fixture.gallery.find(picture.key, .small) == nil)
    }

    /// The same, while the order waited for its turn.
    @Test func aFileThatHasChangedIsNotRemembered() async throws {
        let report = PictureReportTests.complete
        let fixture = try Fixture { try Decoders.helper(reporting: report.bytes, in: $0) }
        let picture = try fixture.picture()
        try #require(writeFile([7, 7, 7, 7], to: fixture.folder.path("picture 1")))
        let ticket = try fixture.gallery.order(picture, .small, for: 1)
        #expect(await Self.outcome(ticket) == .report(report))
        #expect(fixture.gallery.find(picture.key, .small) == nil)
    }

    /// Those who share an order have it in their own line, however many orders the first one has.
    @Test func thoseWhoJoinAnOrderHaveTheirOwnTurn() async throws {
        let fixture = try Fixture { folder in
            try #require(writeFile(PictureReportTests.complete.bytes, to: folder.path("report")))
            return try Decoders.helper(
                script: "readlink /proc/self/fd/0 >> '\(folder.path("order"))'; "
                    + "cat '\(folder.path("report"))'")
        }
        let shared = try fixture.picture(1)
        var tickets = [try fixture.gallery.order(try fixture.picture(100), .small, for: 1)]
        tickets.append(try fixture.gallery.order(shared, .small, for: 1))
        for number in UInt64(2)...9 {
            tickets.append(try fixture.gallery.order(try fixture.picture(number), .small, for: 1))
        }
        tickets.append(try fixture.gallery.order(shared, .small, for: 2))
        for ticket in tickets { #expect(await Self.outcome(ticket) == .report(PictureReportTests.complete)) }
        let order = String(decoding: try #require(readFile(fixture.folder.path("order"))), as: UTF8.self)
            .split(separator: "\n").map { $0.split(separator: " ").last ?? "" }
        let place = try #require(order.firstIndex(of: "1"))
        #expect(place < 6, "\(order)")
        #expect(order.filter { $0 == "1" }.count == 1)
    }

    @Test func withoutAHelperOrdersAreRefused() throws {
        let fixture = try Fixture { _ in nil }
        #expect(throws: Failure.self) { try fixture.gallery.order(try fixture.picture(), .small, for: 1) }
    }

    @Test func whenTheHelperEndsAllOrdersDo() async throws {
        var ends: (own: DescriptorChannel, other: DescriptorChannel)? = try DescriptorChannel.pair()
        let told = Told()
        let fixture = try Fixture({ _ in ends?.own }, report: { _ in told.isTold.store(true, ordering: .relaxed) })
        let ticket = try fixture.gallery.order(try fixture.picture(), .small, for: 1)
        ends = nil
        guard case .unavailable? = await Self.outcome(ticket) else {
            Issue.record("the order has no end")
            return
        }
        let isTold = told.isTold.load(ordering: .relaxed)
        #expect(isTold)
    }

    private final class Told: Sendable { let isTold = Atomic(false) }

    @Test func tooManyOrdersOfAClientAreRefused() throws {
        let ends = try DescriptorChannel.pair()
        let fixture = try Fixture { _ in ends.0 }
        var tickets: [ThumbnailTicket] = []
        var refusal: Failure?
        for number in UInt64(1)...100 where refusal == nil {
            do { tickets.append(try fixture.gallery.order(try fixture.picture(number), .small, for: 1)) } catch {
                refusal = error as? Failure
            }
        }
        #expect(refusal?.code == .busy)
        tickets.append(try fixture.gallery.order(try fixture.picture(200), .small, for: 2))
        _ = ends.1
    }

    /// Pictures that wait in the background, each once.
    private final class Pictures: Gallery.Background {
        private let waiting: Locked<[(StoredPicture, ThumbnailSide?)]>

        init(_ pictures: [(StoredPicture, ThumbnailSide?)]) { waiting = Locked(pictures) }

        func next() -> (StoredPicture, ThumbnailSide?)? { waiting.withLock { $0.popLast() } }
    }

    @Test func withoutOrdersTheBackgroundHasItsTurn() async throws {
        let folder = try TemporaryDirectory()
        let pictures = try (UInt64(11)...13).map { (try Self.picture($0, in: folder), Optional(ThumbnailSide.small)) }
        let report = PictureReportTests.complete
        let fixture = try Fixture(
            { try Decoders.helper(reporting: report.bytes, in: $0) }, background: Pictures(pictures))
        let ticket = try fixture.gallery.order(try fixture.picture(), .small, for: 1)
        #expect(await Self.outcome(ticket) == .report(report))
        while pictures.contains(where: { fixture.gallery.find($0.0.key, .small) == nil }) { await Task.yield() }
    }

    private func readFile(_ path: String) -> [UInt8]? {
        let file = open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return nil }
        defer { close(file) }
        var bytes = [UInt8](repeating: 0, count: 4096)
        let count = read(file, &bytes, bytes.count)
        return count >= 0 ? Array(bytes.prefix(count)) : nil
    }
}
