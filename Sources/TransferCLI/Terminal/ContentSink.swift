private import Glibc
private import TransferModel
internal import TransferSystem

/// Where content goes piece by piece: standard output, or what a path names that is no file, such as a FIFO.
///
/// It is open as long as the program runs.
struct ContentSink: Equatable {
    private let number: Int32

    /// As sentences name it.
    let name: String

    static let output = ContentSink(number: StandardStream.output.rawValue, name: "standard output")

    private init(number: Int32, name: String) {
        (self.number, self.name) = (number, name)
    }

    /// One that is open already.
    ///
    /// - Returns: nothing where nothing can be written to it.
    init?(open number: Int32, name: String) {
        let flags = fcntl(number, F_GETFL)
        guard flags >= 0, flags & O_ACCMODE != O_RDONLY else { return nil }
        self.init(number: number, name: name)
    }

    /// Waits, for a FIFO, until somebody reads it.
    init(opening path: String) throws(SystemError) {
        let number = try system("open") { open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY) }
        self.init(number: number, name: "'\(path.escapedForDisplay)'")
    }

    /// Writes all of it.
    func write(_ bytes: UnsafeRawBufferPointer) -> StandardStream.Written { StandardStream.write(bytes, to: number) }
}
