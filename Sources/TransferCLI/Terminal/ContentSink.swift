private import Glibc
private import TransferModel
internal import TransferSystem

/// The stream to which content is written: standard output, or a path that is not a file, such as a FIFO.
///
/// The stream stays open until the program ends.
struct ContentSink: Equatable {
    private let number: Int32

    /// The name of the stream in messages.
    let name: String

    static let output = ContentSink(number: StandardStream.output.rawValue, name: "standard output")

    private init(number: Int32, name: String) {
        (self.number, self.name) = (number, name)
    }

    /// Uses a descriptor that is already open.
    ///
    /// - Returns: nil if the descriptor is not open for writing.
    init?(open number: Int32, name: String) {
        let flags = fcntl(number, F_GETFL)
        guard flags >= 0, flags & O_ACCMODE != O_RDONLY else { return nil }
        self.init(number: number, name: name)
    }

    /// Opens a path for writing. For a FIFO, this waits until it has a reader.
    init(opening path: String) throws(SystemError) {
        let number = try system("open") { open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY) }
        self.init(number: number, name: "'\(path.escapedForDisplay)'")
    }

    /// Writes all bytes, unless the reader closes the stream.
    func write(_ bytes: UnsafeRawBufferPointer) -> StandardStream.Written { StandardStream.write(bytes, to: number) }
}
