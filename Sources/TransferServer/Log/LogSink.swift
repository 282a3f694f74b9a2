import Glibc
import TransferModel
import TransferSystem

/// Writes lines to a descriptor. A process that keeps a pipe or a terminal open and reads nothing must not stop a
/// server: when there is no room for a while, lines are left out until there is room again.
final class LogSink: Sendable {
    private struct State {
        /// Whether waiting has failed, so that no thread waits for room any more.
        var isStuck = false
        /// Whether the last write ended inside a line.
        var isInLine = false
        var leftOut = 0
    }

    /// Bytes that a pipe takes at once if poll(2) says that it takes any: PIPE_BUF of limits.h (pipe(7)).
    private static let step = 4096

    private let descriptor: Int32
    private let patience: Interval
    /// Whether the descriptor is a regular file, which takes every write at once or never.
    private let isFile: Bool
    private let state = Locked(State())

    /// - Parameters:
    ///   - descriptor: remains owned by the caller.
    ///   - patience: how long to wait for room.
    init(_ descriptor: Int32, patience: Interval) {
        (self.descriptor, self.patience) = (descriptor, patience)
        var status = stat()
        isFile = fstat(descriptor, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
    }

    /// Writes whole lines. If a write fails, they are lost, and this is reported nowhere.
    ///
    /// - Parameters:
    ///   - count: number of lines.
    ///   - notice: makes a line that says how many were left out before these.
    func write(_ lines: String, count: Int, notice: (Int) -> String) {
        guard descriptor >= 0 else { return }
        state.withLock { state in
            if state.leftOut > 0 {
                guard write(notice(state.leftOut), &state) == 0 else { return state.leftOut += count }
                state.leftOut = 0
            }
            state.leftOut += write(lines, &state)
        }
    }

    /// - Returns: number of lines for which there was no room; the first of them may be written in part.
    private func write(_ lines: String, _ state: inout State) -> Int {
        var text = state.isInLine ? "\n" + lines : lines
        return text.withUTF8 { bytes in
            var rest = UnsafeRawBufferPointer(bytes)
            while !rest.isEmpty {
                guard hasRoom(state.isStuck ? Interval(nanoseconds: 0) : patience) else {
                    state.isStuck = true
                    return rest.count { $0 == UInt8(ascii: "\n") }
                }
                let count = Glibc.write(descriptor, rest.baseAddress, min(rest.count, Self.step))
                if count < 0, errno == EINTR { continue }
                // The disk is full or the pipe is broken: the lines are lost.
                guard count > 0 else { return 0 }
                state.isStuck = false
                state.isInLine = rest[count - 1] != UInt8(ascii: "\n")
                rest = UnsafeRawBufferPointer(rebasing: rest[count...])
            }
            return 0
        }
    }

    private func hasRoom(_ patience: Interval) -> Bool {
        guard !isFile else { return true }
        var entry = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        let milliseconds = Int32(clamping: patience.nanoseconds / 1_000_000)
        // A wait that a signal interrupts counts as over.
        return poll(&entry, 1, milliseconds) > 0
    }
}
