import Synchronization
import TransferAccess
import TransferConnection
import TransferIO
import TransferIntake
import TransferModel
import TransferProtocol
import TransferServer
import TransferSimulation
import TransferPorts
import TransferStore

/// The server's end of one connection without socket, loop or pool: one thread does at once the work that a session
/// gives to its loop and to the pool.
final class DirectConversation {
    /// The largest number of turns of work that any bytes can cause.
    private static let mostTurns = 20_000

    /// Room in bytes for the answers that one step of the request worker makes.
    private static let answerRoom = 64 << 10

    private static let buffers = BufferPool(size: 256 << 10, count: 8)

    private let intake: Intake
    private let early = EarlyAnswers()
    private let worker: UploadWorker<BinarySteps>
    private let requestWorker: RequestWorker
    private var wire = BinaryWire()
    private var parser = FrameParser()
    private var unparsed: [UInt8] = []
    private var requests: [Request] = []
    private var cancelled: [UInt32] = []
    /// Bytes to send to the client.
    private var answers: [UInt8] = []

    /// Whether the server reads no more bytes.
    private(set) var hasEnded = false

    /// Whether the content of an open upload is arriving.
    var isReceiving: Bool { wire.isReceiving }

    /// Receives every message that the server accepts.
    private let watch: (Message) -> Void

    init(_ server: SimulatedGround.Server, number: Int, _ caller: Caller, watch: @escaping (Message) -> Void) {
        intake = server.intake
        self.watch = watch
        let resources = WorkerResources(server.intake, server.store, log: Self.log)
        let uploads = ConnectionUploads(
            resources, connection: number, peer: "", progress: ConnectionProgress(number, peer: ""))
        worker = UploadWorker(BinarySteps(uploads, early))
        requestWorker = RequestWorker(resources, peer: "")
        worker.intake.caller = caller
        worker.intake.sender = Sender(connection: number) { false }
        requestWorker.caller = caller
    }

    private static let log = Log(descriptor: -1, level: .error)

    /// Receives the client's bytes, and works until there is no work left.
    ///
    /// - Returns: the bytes that the client receives.
    func receive(_ bytes: [UInt8]) throws(Finding) -> [UInt8] {
        unparsed += bytes
        while !hasEnded, try takeBatch() {}
        defer { answers = [] }
        return answers
    }

    /// Ends the connection and its requests.
    func end() {
        hasEnded = true
        worker.cancel()
        requestWorker.end()
    }

    /// - Returns: whether there may be another batch.
    private func takeBatch() throws(Finding) -> Bool {
        guard let buffer = Self.buffers.takeNow() else { throw Finding("Buffers are not given back.") }
        let batch = BinaryBatch(buffer, carry: Array(unparsed.prefix(256 << 10)))
        do throws(ProtocolFault) {
            try parse(batch)
        } catch {
            hasEnded = true
            Message.result(UploadResult(error)).encode(into: &answers)
        }
        unparsed.removeFirst(batch.input.parsed)
        answers += wire.takeAnswers()
        let wasEmpty = batch.input.parsed == 0
        try work(on: batch)
        try answerRequests()
        return !wasEmpty && !unparsed.isEmpty
    }

    private func parse(_ batch: BinaryBatch) throws(ProtocolFault) {
        while !hasEnded, !batch.isComplete, !batch.unparsed.isEmpty {
            switch try parser.next(batch.unparsed.bytes) {
            case .needsMore: return
            case .message(let message, let consumed):
                batch.consumed(consumed)
                watch(message)
                take(try wire.take(message, batch, isStopping: intake.isStopping.load(ordering: .relaxed)))
            case .data(let piece, let consumed):
                try wire.take(piece, batch)
                batch.consumed(consumed)
            }
        }
    }

    private func take(_ demand: BinaryWire.Demand) {
        switch demand {
        // Every client is admitted.
        case .decide(let hello):
            worker.intake.run = hello.run
            if hello.features.contains(.receipts) { worker.intake.giveReceipts() }
        case .answer(let request): requests.append(request)
        case .cancel(let id): cancelled.append(id)
        case .close: hasEnded = true
        case .needsMore, .content, .begun, .asked, .nothing: break
        }
    }

    private func work(on batch: BinaryBatch) throws(Finding) {
        guard !batch.isEmpty else { return }
        var batches = [batch]
        for _ in 0..<Self.mostTurns {
            let outcome = worker.process(batches)
            batches = []
            let (frames, settled) = early.take()
            wire.settled(settled)
            wire.settled(outcome.settled)
            answers += frames + outcome.frames
            if outcome.left == .nothing { return }
        }
        throw Finding("The work on a batch does not end.")
    }

    private func answerRequests() throws(Finding) {
        var isBusy = !requests.isEmpty || !cancelled.isEmpty
        for _ in 0..<Self.mostTurns {
            guard isBusy else { return }
            let outcome = requestWorker.step(
                requests, cancelled: cancelled, room: Self.answerRoom,
                isStopping: intake.isStopping.load(ordering: .relaxed))
            (requests, cancelled) = ([], [])
            wire.answered(outcome.answered)
            answers += Array(outcome.chunk.filled)
            isBusy = outcome.isBusy
        }
        throw Finding("The work on requests does not end.")
    }
}
