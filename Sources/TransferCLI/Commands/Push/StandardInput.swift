private import Glibc
internal import TransferClient
private import TransferSystem

/// Standard input or another inherited pipe as a source. A read can be cancelled while it waits for data.
final class StandardInput: ByteSource {
    /// The error of a read that was cancelled.
    struct Cancelled: Error, CustomStringConvertible {
        let description = "it was stopped"
    }

    /// A pipe on which a byte signals the cancellation. If the process has no descriptors left, both ends are -1, which
    /// poll(2) ignores.
    private let cancelled: (reading: Int32, writing: Int32)

    /// The operand that names the stream; nil if no operand does.
    let operand: StreamOperand?

    private let descriptor: Int32

    /// - Parameter operands: the first operand that is a stream is read; if there is no such operand, standard input is
    ///   read.
    init(of operands: [String] = []) {
        // The operands are checked before this process opens its pipes.
        operand = operands.lazy.compactMap(StreamOperand.init).first
        descriptor = operand?.descriptor ?? STDIN_FILENO
        var ends: [Int32] = [-1, -1]
        _ = pipe(&ends)
        cancelled = (ends[0], ends[1])
    }

    deinit {
        close(cancelled.reading)
        close(cancelled.writing)
    }

    /// Makes a read that is waiting, and all later ones, throw.
    func cancel() {
        _ = write(cancelled.writing, [0], 1)
    }

    func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
        while true {
            try wait()
            // The descriptor may be non-blocking, because another program that shares it made it so.
            let count = try nonBlocking("read") { Glibc.read(descriptor, buffer.baseAddress, buffer.count) }
            if let count { return count }
        }
    }

    private func wait() throws {
        var waiting = [
            pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0),
            pollfd(fd: cancelled.reading, events: Int16(POLLIN), revents: 0),
        ]
        try system("poll") { poll(&waiting, nfds_t(waiting.count), -1) }
        guard waiting[1].revents == 0 else { throw Cancelled() }
    }
}
