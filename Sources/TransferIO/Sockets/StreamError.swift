package import TransferSystem

/// Why a connection cannot be read or written any more.
package enum StreamError: Error, Equatable, Sendable {
    case system(SystemError)

    /// The other side's TLS didn't do as it should, or was not let in.
    case tls(TLSFault)

    /// The connection ended without the word that TLS ends with: something may be missing.
    case truncated

    /// What happened, to go behind a colon.
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

/// Makes a failed system call an error of the connection.
func streaming<Value>(_ body: () throws(SystemError) -> Value) throws(StreamError) -> Value {
    do throws(SystemError) {
        return try body()
    } catch {
        throw .system(error)
    }
}
