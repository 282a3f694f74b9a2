import TransferCodec
import TransferModel
import TransferProtocol
import TransferPorts
import TransferStore

/// Takes one part of a long file.
///
/// `@unchecked Sendable`: the pool calls it, one call at a time.
final class PullPartArrival: AnswerTaker, @unchecked Sendable {
    private let split: PullSplit
    private let range: Range<UInt64>
    private let lane: PullLane
    private var content: ArrivingContent?
    private var failure: Failure?

    init(_ split: PullSplit, _ range: Range<UInt64>, _ lane: PullLane) {
        (self.split, self.range, self.lane) = (split, range, lane)
    }

    private var bytes: UInt64 { range.upperBound - range.lowerBound }

    var asked: PendingRequest {
        lane.asks(bytes)
        let block = UInt64(Limits.blockSize)
        let request = split.file.request(
            lane.plan.context, from: range.lowerBound, length: (bytes + block - 1) / block * block)
        return PendingRequest(request, self)
    }

    func begin(_ found: FetchedFile) -> Taken {
        let entry = split.file.entry
        guard found.version == split.file.version, found.size == entry.size, found.offset == range.lowerBound else {
            return reject(.fileChanged, "The file changed after it was listed.")
        }
        do throws(Failure) {
            try split.reserve(found)
        } catch {
            return reject(error.code, error.message)
        }
        let function = split.file.function(lane.plan.context.configuration)
        content = ArrivingContent(found, function, digester: ContentDigester(function), part: range)
        return split.hasFailed ? .unwanted : .wanted
    }

    func take(_ bytes: UnsafeRawBufferPointer) -> Taken { take(bytes, isHole: false) }

    func takeHole(_ zeros: UnsafeRawBufferPointer) -> Taken { take(zeros, isHole: true) }

    private func take(_ bytes: UnsafeRawBufferPointer, isHole: Bool) -> Taken {
        guard let content, failure == nil else { return .unwanted }
        let offset = content.size
        guard content.take(bytes) else {
            return .fault(ProtocolFault(.unexpectedFrame, "The server sends more of a file than it announced."))
        }
        do throws(Failure) {
            try isHole ? split.staged.clear(offset..<content.size) : split.staged.write(bytes, at: offset)
        } catch {
            let error = error.local
            return reject(error.code, error.message)
        }
        split.progressed(bytes.count, lane)
        return .wanted
    }

    func check(_ block: BlockDigest) -> Taken {
        guard let content, failure == nil else { return .unwanted }
        return content.matches(block) ? .wanted : reject(.digestMismatch, "A block of the file arrived damaged.")
    }

    func end(_ end: End) {
        lane.answered(bytes)
        guard let content, failure == nil else { return split.failed(failure ?? .connectionLost) }
        do throws(Failure) {
            _ = try content.end(end)
            split.completed(range, content.file, digests: content.blocks, lane)
        } catch {
            split.failed(error)
        }
    }

    func end(_ outcome: Outcome) {
        lane.answered(bytes)
        split.failed(failure ?? Failure(outcome.code, outcome.message))
    }

    func lost() {
        lane.answered(bytes)
        guard failure == nil, !split.hasFailed else { return split.failed(failure ?? .connectionLost) }
        split.lost((content?.size ?? range.lowerBound) - range.lowerBound)
        lane.plan.again(.part(split, range))
    }

    private func reject(_ code: ResultCode, _ message: String) -> Taken {
        failure = failure ?? Failure(code, message)
        return .unwanted
    }
}
