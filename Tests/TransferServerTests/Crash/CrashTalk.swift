import TransferModel
import TransferProtocol
import TransferStoreTestSupport

/// A client of a recorded server. It records each answer that it has read.
struct CrashTalk {
    private let server: TestServer
    private let recording: ServerRecording

    /// Whether the server may have parts already, so that the client asks before it sends them.
    var asksFirst = false

    /// Acknowledged uploads below a removed path, which are not sent again.
    var skipped: Set<UploadID> = []
    var skippedRemovals: Set<String> = []

    /// The last result for each ID.
    private(set) var results: [UploadID: UploadResult] = [:]

    /// Blocks that the server reported when the client first asked.
    private(set) var found: [UploadID: [UInt64: Digest]] = [:]

    private(set) var client: RawClient

    init(_ server: TestServer, _ recording: ServerRecording) throws {
        (self.server, self.recording) = (server, recording)
        client = try server.greetedClient(run: Self.run)
    }

    /// Number of a push that continues after a crash.
    private static let run: UInt64 = 5

    mutating func perform(_ steps: [CrashConversation.Step]) throws {
        for step in steps { try perform(step) }
    }

    private mutating func perform(_ step: CrashConversation.Step) throws {
        switch step {
        case .send(let all):
            let uploads = all.filter { !skipped.contains($0.id) }
            client.send(uploads.flatMap(\.frames))
            for _ in uploads { try take(try client.result(), all) }
        case .part(let upload, let range):
            guard asksFirst else { return try send(upload, range) }
            if found[upload.id] == nil, results[upload.id] == nil { _ = try missing(upload) }
        case .resume(let upload):
            client = try server.greetedClient(run: Self.run)
            for range in try missing(upload).dropLast() { try send(upload, range) }
        case .complete(let upload):
            for range in try missing(upload) { try send(upload, range) }
            guard results[upload.id] == nil else { return }
            client.send(upload.parted.multipart)
            try take(try client.result(), [upload])
        case .lookUp(let uploads):
            for result in try client.lookUp(uploads.map(\.id)).known { try take(result, uploads) }
        case .remove(let path):
            guard !skippedRemovals.contains(path) else { return }
            let outcome = try client.remove(path, recursive: true)
            guard outcome.code == .completed || outcome.code == .notFound else {
                throw RawClient.Failure(description: "\(path) is not removed: \(outcome)")
            }
            recording.script.acknowledgeRemoval(path)
            recording.note(.removed(path))
        }
    }

    /// Asks for the blocks that the server has.
    ///
    /// - Returns: ranges of the blocks that are missing or different; nil if the upload is already stored.
    mutating func missing(_ upload: CrashConversation.Upload) throws -> [Range<Int>] {
        let parted = upload.parted
        client.send(parted.question)
        var found: [UInt64: Digest] = [:]
        loop: while true {
            switch try client.answer() {
            case .have(let have):
                for (number, digest) in have.digests.enumerated() { found[have.first + UInt64(number)] = digest }
            case .accept: break loop
            case .result(let result):
                try take(result, [upload])
                return []
            case let other: throw RawClient.Failure(description: "\(other) instead of have or accept")
            }
        }
        results[upload.id] = nil
        self.found[upload.id] = self.found[upload.id] ?? found
        return parted.blocks.indices.filter { found[UInt64($0)] != parted.blocks[$0] }.map { index in
            index * Limits.blockSize..<min(upload.content.count, (index + 1) * Limits.blockSize)
        }
    }

    private func send(_ upload: CrashConversation.Upload, _ range: Range<Int>) throws {
        client.send(upload.parted.part(range))
        let result = try client.result()
        guard result.code == .staged else { throw RawClient.Failure(description: "not staged: \(result)") }
        recording.note(.staged(upload.id, range))
    }

    private mutating func take(_ result: UploadResult, _ uploads: [CrashConversation.Upload]) throws {
        guard result.code.isSuccess, result.isDurable, let upload = uploads.first(where: { $0.id == result.id })
        else { throw RawClient.Failure(description: "not acknowledged: \(result)") }
        guard result.digest == Frames.digest(upload.content) else {
            throw RawClient.Failure(description: "another digest: \(result)")
        }
        var result = result
        // A result without a path stands for the requested path.
        let path = result.storedPath ?? upload.path
        result.storedPath = path
        results[upload.id] = result
        recording.script.acknowledge(path, upload.content)
        recording.note(.acknowledged(result))
    }
}
