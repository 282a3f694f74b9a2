import CLinux
import Glibc
import TransferIO
import TransferModel
import TransferProtocol
import TransferSystem

/// Sends without end and counts the answers on one thread, because the server stops a client that sends and never
/// reads.
final class FloodConnection {
    private(set) var results: [ResultCode: Int] = [:]
    private(set) var pongs = 0
    private(set) var accepts = 0
    /// The result with which the server ended the connection.
    private(set) var fault: UploadResult?
    private(set) var isClosed = false

    private let number: Int32
    private var parser = FrameParser()
    private var received: [UInt8] = []
    private var waiting: ArraySlice<UInt8> = []
    private var buffer = [UInt8](repeating: 0, count: 256 << 10)

    /// Connects and sends the hello.
    init(to address: String) throws {
        number = try PeerSocket.connected(to: address)
        _ = fcntl(number, F_SETFL, O_NONBLOCK)
        waiting = FrameBytes.of(.hello(Hello(agent: "flood")))[...]
    }

    deinit { close(number) }

    var answers: Int { pongs + accepts + results.reduce(0) { $0 + $1.value } }

    /// Sends the frames for each number until the server ends the connection.
    ///
    /// - Parameter window: number of answers that may be outstanding; a client may have at most 4,096 unacknowledged
    ///   uploads.
    func send(_ count: Int, window: Int = 2000, _ frames: (Int) -> [UInt8]) throws {
        let first = answers
        for number in 0..<count where !isClosed {
            waiting += frames(number)
            while !isClosed, waiting.count > 64 << 10 || number - (answers - first) >= window { try step() }
        }
    }

    /// Ends sending, and reads all remaining answers.
    func finish() throws {
        while !isClosed, !waiting.isEmpty { try step() }
        shutdown(number, Int32(SHUT_WR))
        while !isClosed { try step() }
    }

    private func step() throws {
        var ready = pollfd(fd: number, events: Int16(waiting.isEmpty ? POLLIN : POLLIN | POLLOUT), revents: 0)
        guard poll(&ready, 1, Int32(Program.patience) * 1000) == 1 else {
            throw Program.Failure(description: "the server neither took nor sent anything")
        }
        if ready.revents & Int16(POLLOUT) != 0 {
            let count = waiting.withUnsafeBytes { Glibc.send(number, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
            if count > 0 { waiting = waiting.dropFirst(count) }
            if waiting.isEmpty { waiting = [] }
        }
        if ready.revents & Int16(POLLIN | POLLHUP | POLLERR) != 0 { try receive() }
    }

    private func receive() throws {
        let count = recv(number, &buffer, buffer.count, 0)
        guard count > 0 else {
            isClosed = count == 0 || errno != EAGAIN
            return
        }
        received += buffer[..<count]
        var used = 0
        try received.withUnsafeBytes { bytes in
            while used < bytes.count {
                let rest = UnsafeRawBufferPointer(rebasing: bytes[used...])
                guard case .message(let message, let consumed) = try parser.next(rest.bytes) else { return }
                used += consumed
                take(message)
            }
        }
        received.removeFirst(used)
    }

    private func take(_ message: Message) {
        switch message {
        case .pong: pongs += 1
        case .accept: accepts += 1
        case .result(let result) where result.id == .none: fault = result
        case .result(let result): results[result.code, default: 0] += 1
        default: break
        }
    }
}

/// Encodes messages and data as frames.
enum FrameBytes {
    static func of(_ messages: Message...) -> [UInt8] {
        messages.reduce(into: []) { $1.encode(into: &$0) }
    }

    static func data(_ body: [UInt8], _ encoding: BodyEncoding = .stored) -> [UInt8] {
        var frame: [UInt8] = []
        FrameHeader(.data, encoding: encoding, bodyLength: body.count).encode(into: &frame)
        return frame + body
    }
}
