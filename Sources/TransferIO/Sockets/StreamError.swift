package import TransferSystem

/// The reason why a connection can no longer be read or written.
package enum StreamError: Error, Equatable, Sendable {
    case system(SystemError)

    /// TLS failed, or one side did not trust the other.
    case tls(TLSFault)

    /// The connection ended without TLS's closing alert, so bytes may be missing.
    case truncated

    /// A description that follows a colon.
    package var reason: String {
        switch self {
        case .system(let error): error.reason
        case .tls(let fault): fault.reason
        case .truncated: "the connection was cut off"
        }
    }
}

extension StreamError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .system(let error): error.description
        case .tls, .truncated: reason
        }
    }
}

/// Converts errors of system calls to errors of the connection.
func streaming<Value>(_ body: () throws(SystemError) -> Value) throws(StreamError) -> Value {
    do throws(SystemError) {
        return try body()
    } catch {
        throw .system(error)
    }
}
