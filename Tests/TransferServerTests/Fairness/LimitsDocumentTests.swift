import Glibc
import Testing
import TransferClassic
import TransferConnection
import TransferMail
import TransferModel
import TransferPorts
import TransferProtocol
import TransferTestSupport

@testable import TransferAccess
@testable import TransferCatalog
@testable import TransferGallery
@testable import TransferIntake
@testable import TransferPictures
@testable import TransferServer
@testable import TransferStore

/// The table in `docs/reference/limits.md` shows the numbers of the code. `TRANSFER_GOLDEN=write swift test --filter
/// LimitsDocumentTests` writes them again.
@Suite struct LimitsDocumentTests {
    private static let name = "docs/reference/limits.md"

    private static let isWriting = getenv("TRANSFER_GOLDEN").map { String(cString: $0) } == "write"

    /// Text of the table's second column for each constant named in the last column.
    private static let bounds: [String: String] = [
        "ServerConfiguration.maximumConnections": count(configuration.maximumConnections),
        "ServerConfiguration.maximumPerNetwork": count(configuration.maximumPerNetwork),
        "ServerConfiguration.maximumPending": count(configuration.maximumPending),
        "ServerConfiguration.maximumMultiparts": count(configuration.maximumMultiparts),
        "ConnectionLimits.Limits.refusals": count(
            ConnectionLimits.Limits(connections: 1, perNetwork: 1, pending: 1).refusals),
        "Liveness.Timeouts.handshake": time(Liveness.Timeouts().handshake),
        "HashingQueue.mostRunning": count(HashingQueue.mostRunning),
        "HashingQueue.mostWaiting": count(HashingQueue.mostWaiting),
        "HashingQueue.mostOfNetwork": count(HashingQueue.mostOfNetwork),
        "HashingQueue.mostOfToken": count(HashingQueue.mostOfToken),
        "HashingQueue.mostJoined": count(HashingQueue.mostJoined),
        "AttemptLimiter.delay": time(AttemptLimiter.delay),
        "LogThrottle.burst": count(LogThrottle.burst),
        "LogThrottle.rate": count(LogThrottle.rate),
        "Transport.bufferCount": count(Transport.bufferCount),
        "Transport.bufferSize": bytes(Transport.bufferSize),
        "Transport.unsentLimit": bytes(Transport.unsentLimit),
        "BinaryBatch.mostOperations": count(BinaryBatch.mostOperations),
        "BinaryBatch.mostHoles": bytes(BinaryBatch.mostHoles),
        "BatchPipe.limit.usual": count(BatchPipe<BinaryBatch>.limit.usual),
        "BatchPipe.limit.scarce": count(BatchPipe<BinaryBatch>.limit.scarce),
        "BinarySteps.mostLate": bytes(BinarySteps.mostLate),
        "BinarySteps.mostMade": bytes(BinarySteps.mostMade),
        "BinaryRequests.mostChunks": count(BinaryRequests.mostChunks),
        "FileSending.prefixStep": bytes(FileSending.prefixStep),
        "AnswerCompression.mostContent": bytes(AnswerCompression.mostContent),
        "ServedClient.mostUnsent": bytes(ServedClient.mostUnsent),
        "Turn.longest": time(Interval(nanoseconds: Turn.longest)),
        "ConflictPolicy.mostNumbers": count(ConflictPolicy.mostNumbers),
        "ContentComparison.mostWhole": count(ContentComparison.mostWhole),
        "ContentComparison.mostForHoles": bytes(ContentComparison.mostForHoles),
        "CommitPipeline.mostNames": bytes(CommitPipeline.mostNames),
        "SessionMultiparts.most": count(SessionMultiparts.most),
        "MultipartUpload.mostPieces": count(MultipartUpload.mostPieces),
        "UnfinishedUploads.places": count(UnfinishedUploads.places),
        "UnfinishedUploads.share": count(UnfinishedUploads.share),
        "UnfinishedUploads.namelessShare": count(UnfinishedUploads.namelessShare),
        "UnfinishedUploads.mostBytes": bytes(UnfinishedUploads.mostBytes),
        "RecentResults.capacity": count(RecentResults.capacity),
        "RecentResults.mostBytes": bytes(RecentResults.mostBytes),
        "Catalog.mostOfPath": count(Catalog.mostOfPath),
        "Catalog.rowsAtOnce": count(Catalog.rowsAtOnce),
        "MailDelivery.mostDoubtful": count(MailDelivery.mostDoubtful),
        "HTTPRequest.mostGathered": bytes(HTTPRequest.mostGathered),
        "ClassicLimits.json": bytes(ClassicLimits.json),
        "ClassicLimits.jsonValues": count(ClassicLimits.jsonValues),
        "ClassicBatch.mostDecoded": bytes(ClassicBatch.mostDecoded),
        "ClassicSession.mostUnanswered": count(ClassicSession.mostUnanswered),
        "Mailroom.mostUnproven": count(Mailroom.mostUnproven),
        "ChatDeliveries.most": count(ChatDeliveries.most),
        "ChatState.mostSaid": bytes(ChatState.mostSaid),
        "OrderQueue.Limits.total": count(OrderQueue<Int>.Limits().total),
        "OrderQueue.Limits.ofClient": count(OrderQueue<Int>.Limits().ofClient),
        "Gallery.mostDecoders": count(Gallery.mostDecoders),
        "PictureDecoder.seconds": time(.seconds(Double(PictureDecoder.seconds))),
        "PictureDecoder.memory": bytes(PictureDecoder.memory),
        "PictureLimits.fileSize": bytes(PictureLimits.fileSize),
        "Gallery.mostBytes": bytes(Int(Gallery.mostBytes)),
        "PictureCache.lifetime": "\(PictureCache.lifetime) days",
        "CommittedPictures.most": count(CommittedPictures.most),
        "DiscoveryLimiter.perNetwork.perSecond": count(DiscoveryLimiter.perNetwork.perSecond),
        "DiscoveryLimiter.perNetwork.burst": count(DiscoveryLimiter.perNetwork.burst),
        "DiscoveryLimiter.overall.perSecond": count(DiscoveryLimiter.overall.perSecond),
        "DiscoveryLimiter.overall.burst": count(DiscoveryLimiter.overall.burst),
    ]

    private static var configuration: ServerConfiguration { ServerConfiguration(directory: "/", endpoints: []) }

    @Test func everyNumberIsThatOfTheCode() throws {
        if Self.isWriting { try Self.write() }
        let rows = try MarkdownDocument(Self.name).table(below: "## Bounds")
        #expect(rows.map { $0[3] }.sorted() == Self.bounds.keys.sorted())
        for row in rows {
            #expect(
                row[1] == Self.bounds[row[3]],
                "\(row[3]); if that is meant, run 'TRANSFER_GOLDEN=write swift test --filter LimitsDocumentTests'")
        }
    }

    /// Puts the numbers into the rows that name a constant. All other text stays.
    private static func write() throws {
        let path = try #require(MarkdownDocument.directory(of: name)) + "/" + name
        let text = try #require(MarkdownDocument.read(path))
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false).map { line -> String in
            var cells = line.split(separator: "|", omittingEmptySubsequences: false).map(String.init)
            guard cells.count == 6, let value = bounds[cells[4].filter { $0 != " " && $0 != "`" }] else {
                return String(line)
            }
            cells[2] = value
            return cells.joined(separator: "|")
        }
        let file = try #require(fopen(path, "w"))
        defer { fclose(file) }
        try #require(fputs(lines.joined(separator: "\n"), file) >= 0)
    }

    /// Formats a whole number with a comma before each three digits.
    private static func count(_ value: some BinaryInteger) -> String {
        var digits = String(value)
        var groups: [String] = []
        while digits.count > 3 {
            groups.insert(String(digits.suffix(3)), at: 0)
            digits.removeLast(3)
        }
        return ([digits] + groups).joined(separator: ",")
    }

    /// Formats a size in the largest unit that needs no fraction.
    private static func bytes(_ value: some BinaryInteger) -> String {
        let units: [(String, Int)] = [("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10), ("bytes", 1)]
        let size = Int(value)
        let (unit, factor) = units.first { size.isMultiple(of: $0.1) } ?? ("bytes", 1)
        return "\(count(size / factor)) \(unit)"
    }

    private static func time(_ value: Interval) -> String {
        let milliseconds = value.nanoseconds / 1_000_000
        return milliseconds.isMultiple(of: 1000) ? "\(milliseconds / 1000) s" : "\(milliseconds) ms"
    }
}
