private import Glibc
internal import TransferClient
private import TransferSystem

/// Standard input, or another pipe that the process was given, as something to push. A read can be cancelled while it waits, perhaps for ever, for whoever writes.
final class StandardInput: ByteSource {
    /// Somebody cancelled.
    struct Cancelled: Error, CustomStringConvertible {
        let description = "it was stopped"
    }

    /// The ends of a pipe on which a byte says that somebody cancelled; -1 when the process has no descriptors left,
    /// and poll(2) ignores it then.
    private let cancelled: (reading: Int32, writing: Int32)

    /// The operand that means it; nothing where there is none.
    let operand: StreamOperand?

    private let descriptor: Int32

    /// - Parameter operands: of which the first that is a stream is read, and standard input where none is.
    init(of operands: [String] = []) {
        // Before there are pipes of this process's own.
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

    /// The read that waits, and every later one, throws.
    func cancel() {
        _ = write(cancelled.writing, [0], 1)
    }

    func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
        while true {
            try wait()
            // It may be non-blocking because a program that shares it made it so.
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
