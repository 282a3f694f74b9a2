internal import TransferSystem

/// Buffers lines for standard output, so that many are written at once.
struct LinePrinter {
    private var text = ""
    private var loss: SystemError?

    /// Whether the reader has closed standard output.
    private(set) var isClosed = false

    /// The size of the buffer in bytes.
    private static let writeSize = 64 << 10

    /// Whether the buffer is empty.
    var isEmpty: Bool { text.isEmpty }

    /// Whether the buffer should be written.
    var isFull: Bool { text.utf8.count >= Self.writeSize }

    mutating func print(_ line: String) {
        add(line)
        if isFull { flush() }
    }

    /// Adds a line without writing it, so that the caller can erase progress before `flush`.
    mutating func add(_ line: String) {
        text += line
        text += "\n"
    }

    mutating func flush() {
        guard !text.isEmpty, !isClosed else { return }
        switch text.withUTF8({ StandardStream.output.write(UnsafeRawBufferPointer($0)) }) {
        case .written: break
        case .closed: isClosed = true
        case .failed(let error): loss = loss ?? error
        }
        text = ""
    }

    /// Writes the rest of the buffer.
    ///
    /// - Returns: `uploadsFailed` if some output was lost.
    mutating func finish() -> ExitCode {
        flush()
        guard let loss else { return .success }
        StandardStream.error.write("transfer: cannot write to standard output: \(loss.reason)\n")
        return .uploadsFailed
    }
}
