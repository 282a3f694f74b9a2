internal import COpenSSL

/// Checks every result of OpenSSL.
enum OpenSSL {
    /// - Throws: `failed` with the name of the call unless the status is 1, which means success.
    static func check(_ status: Int32, _ call: String) throws(SealingError) {
        guard status == 1 else { throw failure(call) }
    }

    /// - Throws: `failed` with the name of the call if the result is nil.
    static func made<Made>(_ made: Made?, _ call: String) throws(SealingError) -> Made {
        guard let made else { throw failure(call) }
        return made
    }

    /// Clears the thread's queue of errors. Otherwise the next TLS session on the thread would report them as its own
    /// (SSL_get_error(3)).
    static func failure(_ call: String) -> SealingError {
        ERR_clear_error()
        return .failed(call)
    }
}

extension UnsafeRawBufferPointer {
    /// The address in the type that OpenSSL needs.
    var octets: UnsafePointer<UInt8>? { baseAddress?.assumingMemoryBound(to: UInt8.self) }
}

extension UnsafeMutableRawBufferPointer {
    /// The address in the type that OpenSSL needs.
    var octets: UnsafeMutablePointer<UInt8>? { baseAddress?.assumingMemoryBound(to: UInt8.self) }
}
