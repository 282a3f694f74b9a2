internal import COpenSSL

/// Where every answer of OpenSSL is looked at.
enum OpenSSL {
    /// - Throws: `failed` with the name of the call unless it succeeded, which is 1.
    static func check(_ status: Int32, _ call: String) throws(SealingError) {
        guard status == 1 else { throw failure(call) }
    }

    /// - Throws: `failed` with the name of the call where nothing was made.
    static func made<Made>(_ made: Made?, _ call: String) throws(SealingError) -> Made {
        guard let made else { throw failure(call) }
        return made
    }

    /// What a thread's queue of errors still has would be taken for an error of the next TLS session on it
    /// (SSL_get_error(3)).
    static func failure(_ call: String) -> SealingError {
        ERR_clear_error()
        return .failed(call)
    }
}

extension UnsafeRawBufferPointer {
    /// As OpenSSL wants it.
    var octets: UnsafePointer<UInt8>? { baseAddress?.assumingMemoryBound(to: UInt8.self) }
}

extension UnsafeMutableRawBufferPointer {
    /// As OpenSSL wants it.
    var octets: UnsafeMutablePointer<UInt8>? { baseAddress?.assumingMemoryBound(to: UInt8.self) }
}
