private import Glibc
internal import TransferSystem

extension StandardStream {
    /// The result of writing bytes.
    enum Written {
        case written
        /// The reader has closed the stream, which is not an error.
        case closed
        case failed(SystemError)
    }

    /// Writes all bytes, waiting if necessary.
    func write(_ bytes: UnsafeRawBufferPointer) -> Written { Self.write(bytes, to: rawValue) }

    static func write(_ bytes: UnsafeRawBufferPointer, to number: Int32) -> Written {
        var rest = bytes
        while !rest.isEmpty {
            let written = Glibc.write(number, rest.baseAddress, rest.count)
            if written >= 0 {
                rest = UnsafeRawBufferPointer(rebasing: rest[written...])
            } else if errno == EAGAIN {
                waitUntilWritable(number)
            } else if errno != EINTR {
                return errno == EPIPE ? .closed : .failed(SystemError(errno: errno, call: "write"))
            }
        }
        return .written
    }
}
