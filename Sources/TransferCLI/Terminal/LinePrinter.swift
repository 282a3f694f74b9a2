internal import TransferSystem

/// Lines on their way to standard output, many in one write.
struct LinePrinter {
    private var text = ""
    private var loss: SystemError?

    /// Whether nobody reads what is printed any more.
    private(set) var isClosed = false

    /// Bytes that are written together.
    private static let writeSize = 64 << 10

    /// Whether there is something to be written.
    var isEmpty: Bool { text.isEmpty }

    /// Whether it is time to write.
    var isFull: Bool { text.utf8.count >= Self.writeSize }

    mutating func print(_ line: String) {
        add(line)
        if isFull { flush() }
    }

    /// Keeps a line until `flush`, for whoever has to make room on the terminal first.
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

    /// Writes what is left.
    ///
    /// - Returns: a failure when some of it is lost.
    mutating func finish() -> ExitCode {
        flush()
        guard let loss else { return .success }
        StandardStream.error.write("transfer: cannot write to standard output: \(loss.reason)\n")
        return .uploadsFailed
    }
}
