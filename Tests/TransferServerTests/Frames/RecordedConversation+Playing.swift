import TransferModel

extension RecordedConversation {
    /// Plays the client's part against a server and records the answers.
    ///
    /// - Parameters:
    ///   - piece: number of bytes to send at once in steps that do not depend on that.
    ///   - counts: number of frames that each step waits for. The last step waits for the end of the connection.
    func played(on server: TestServer, pieces piece: Int?, waitingFor counts: [Int]) throws -> RecordedConversation {
        let client = try server.client()
        var heard = FrameStream(client)
        var conversation = self
        for index in steps.indices {
            let step = steps[index]
            if step.isAtTheEnd {
                server.beginShutDown()
                server.waitUntilClosed()
            }
            Self.say(step.said.flatMap(\.self), to: client, pieces: step.isAtOnce ? nil : piece)
            let count = index == steps.indices.last ? nil : counts[index]
            conversation.steps[index].answers = try heard.next(count)
        }
        return conversation
    }

    private static func say(_ bytes: [UInt8], to client: RawClient, pieces piece: Int?) {
        guard let piece else { return client.send(bytes) }
        for start in stride(from: 0, to: bytes.count, by: piece) {
            client.send(Array(bytes[start..<min(bytes.count, start + piece)]))
        }
    }
}

/// Frames from a server, without those that depend on time.
private struct FrameStream {
    private let client: RawClient
    private var bytes: ArraySlice<UInt8> = []
    private var isAtEnd = false

    init(_ client: RawClient) {
        self.client = client
    }

    /// - Parameter count: number of frames to read, where all data of one answer counts as one frame; nil to read all.
    mutating func next(_ count: Int?) throws -> [[UInt8]] {
        var (frames, content): ([[UInt8]], [UInt8]?) = ([], nil)
        while frames.count < count ?? .max, let frame = try next() {
            if let piece = frame.content {
                content = (content ?? []) + piece
                continue
            }
            if let whole = content.take() { frames.append(RecordedFrame.data(whole)) }
            frames.append(frame.normalised)
        }
        return frames
    }

    private mutating func next() throws -> RecordedFrame? {
        while true {
            guard let length = RecordedFrame.length(of: bytes) else {
                guard let more = try client.receiveBare() else {
                    defer { bytes = [] }
                    return bytes.isEmpty ? nil : RecordedFrame(Array(bytes))
                }
                bytes = ArraySlice(Array(bytes) + more)
                continue
            }
            let frame = RecordedFrame(Array(bytes.prefix(length)))
            bytes = bytes.dropFirst(length)
            if !frame.isOfTime { return frame }
        }
    }
}
