import TransferCodec
import TransferModel
import TransferProtocol
import TransferPorts
import TransferStore
import TransferSystem

/// Learns the outcome of the publication of a file.
protocol PullPublishing: AnyObject {
    func published(_ outcome: Result<PublicationOutcome, Failure>)
}

/// Takes the content of one pulled file, and stores it without a visible name until it is complete and verified.
///
/// `@unchecked Sendable`: the pool calls it, one call at a time.
final class PullArrival: AnswerTaker, PullPublishing, @unchecked Sendable {
    /// The progress of a long file is reported each time that this many bytes have arrived.
    private static let progressStep: UInt64 = 1 << 20

    private let file: PullFile
    private let lane: PullLane
    /// The part of a long file. It is opened before the request, so that no other process takes it.
    private let part: StagedFile?
    /// The bytes of the part that exist already and are not requested.
    private let present: UInt64
    private var digester: ContentDigester?
    private var staged: StagedFile?
    private var content: ArrivingContent?
    private var digest: Digest?
    /// The reason why no more content is wanted; reported when the answer has ended.
    private var failure: Failure?

    init(
        _ file: PullFile, _ lane: PullLane, part: StagedFile? = nil, present: UInt64 = 0,
        digester: ContentDigester? = nil
    ) {
        (self.file, self.lane, self.part) = (file, lane, part)
        (self.present, self.digester) = (present, digester)
    }

    private var configuration: ClientConfiguration { lane.plan.context.configuration }

    var asked: PendingRequest {
        lane.asks(bytes)
        return PendingRequest(file.request(lane.plan.context, from: present), self)
    }

    /// The bytes that are requested.
    private var bytes: UInt64 { file.entry.size - min(present, file.entry.size) }

    func begin(_ found: FetchedFile) -> Taken {
        guard found.version == file.version ?? found.version, found.size == file.entry.size else {
            return reject(.fileChanged, "The file changed after it was listed.")
        }
        if file.delivery != nil { file.version = found.version }
        let function = file.function(configuration)
        let digester = self.digester ?? lane.takeDigester(function)
        if found.offset != present { digester.reset() }
        self.digester = digester
        content = ArrivingContent(found, function, digester: digester)
        do throws(Failure) {
            if let part {
                do throws(Failure) {
                    try part.reserve(found.size, filled: found.filled)
                } catch {
                    // A new part has no earlier content that is worth keeping.
                    if part.isNew { part.discard() }
                    throw error
                }
                staged = part
            } else {
                staged = try lane.directory.stage(
                    size: found.size, filled: found.filled, permissions: file.permissions(or: found))
            }
        } catch {
            let error = error.local
            return reject(error.code, error.message)
        }
        return .wanted
    }

    func take(_ bytes: UnsafeRawBufferPointer) -> Taken { take(bytes, isHole: false) }

    func takeHole(_ zeros: UnsafeRawBufferPointer) -> Taken { take(zeros, isHole: true) }

    private func take(_ bytes: UnsafeRawBufferPointer, isHole: Bool) -> Taken {
        guard let content, let staged, failure == nil else { return .unwanted }
        let offset = content.size
        guard content.take(bytes) else {
            return .fault(ProtocolFault(.unexpectedFrame, "The server sends more of a file than it announced."))
        }
        do throws(Failure) {
            try isHole ? staged.clear(offset..<content.size) : staged.write(bytes, at: offset)
        } catch {
            let error = error.local
            return reject(error.code, error.message)
        }
        if file.isLong, offset / Self.progressStep != content.size / Self.progressStep {
            lane.progress(file, content.size)
        }
        return .wanted
    }

    func check(_ block: BlockDigest) -> Taken {
        guard let content, failure == nil else { return .unwanted }
        return content.matches(block) ? .wanted : reject(.digestMismatch, "A block of the file arrived damaged.")
    }

    func end(_ end: End) {
        guard let content, let staged, failure == nil else { return conclude() }
        do throws(Failure) {
            let digest = try content.end(end)
            guard file.mayHave(digest) else { throw file.otherContent }
            let publication = try lane.opened(
                file, staged,
                file.publication(staged, size: content.size, digest, configuration.conflict, content.file))
            self.digest = digest
            lane.answered(bytes)
            giveDigesterBack()
            // Opened content is in a separate staged file; the part is kept until that file has its name.
            self.staged = nil
            lane.add(self, publication)
        } catch {
            failure = error
            conclude()
        }
    }

    func end(_ outcome: Outcome) {
        // A failure on this side takes precedence: the server's outcome can be a consequence of it.
        failure = failure ?? Failure(outcome.code, outcome.message)
        conclude()
    }

    func lost() {
        lane.answered(bytes)
        letGo(keepingPart: failure == nil)
        guard let failure else { return lane.plan.again(.file(file)) }
        lane.plan.report(file.report(failure.code, failure.message), of: file)
    }

    func published(_ outcome: Result<PublicationOutcome, Failure>) {
        file.opened(from: part, outcome)
        lane.plan.report(file.report(outcome, digest, resumed: present), of: file)
    }

    private func reject(_ code: ResultCode, _ message: String) -> Taken {
        failure = failure ?? Failure(code, message)
        return .unwanted
    }

    /// Finishes the work on a file that was not received.
    private func conclude() {
        lane.answered(bytes)
        let failure = failure ?? .connectionLost
        letGo(keepingPart: !failure.isForGood)
        lane.plan.retry(file, failure)
    }

    private func letGo(keepingPart: Bool) {
        if part == nil || !keepingPart { (staged ?? part)?.discard() }
        staged = nil
        giveDigesterBack()
    }

    private func giveDigesterBack() {
        if let digester { lane.giveBack(digester, file.function(configuration)) }
        digester = nil
        content = nil
    }
}
