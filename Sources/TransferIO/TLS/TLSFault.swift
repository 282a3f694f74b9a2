internal import COpenSSL

/// Why TLS ended a connection, or never came about.
package enum TLSFault: Error, Equatable, Sendable {
    /// What answered doesn't speak TLS; its first bytes, one at least.
    case notTLS(opening: [UInt8])

    /// This side's judge refused the other side's certificate.
    case untrusted

    /// The other side ended it with an alert.
    case alert(String)

    /// What came broke the rules, or was changed on its way; OpenSSL's words.
    case broken(String)

    /// What happened, to go behind a colon.
    package var reason: String {
        switch self {
        case .notTLS: "the other side doesn't speak TLS"
        case .untrusted: "the other side's certificate is not trusted"
        case .alert(let name): "the other side ended TLS: \(name)"
        case .broken(let words): "TLS failed: \(words)"
        }
    }
}

extension TLSFault {
    /// What OpenSSL has queued last on this thread; clears the queue.
    static func taken() -> TLSFault {
        let code = ERR_peek_last_error()
        ERR_clear_error()
        guard code != 0 else { return .broken("no reason given") }
        let number = copenssl_error_reason(code)
        let words = ERR_reason_error_string(code).map { String(cString: $0) } ?? "error \(number)"
        // Alerts of the other side are numbered from SSL_AD_REASON_OFFSET on (ssl(7)), and have one byte.
        let alert = number - SSL_AD_REASON_OFFSET
        guard copenssl_error_library(code) == ERR_LIB_SSL, (0...255).contains(alert) else { return .broken(words) }
        return .alert(alertName(alert))
    }

    private static func alertName(_ number: Int32) -> String {
        SSL_alert_desc_string_long(number).map { String(cString: $0) } ?? "alert \(number)"
    }
}

/// Why there is no TLS to start with: a certificate or a key that cannot be used.
package struct TLSError: Error, Equatable, Sendable {
    /// A sentence that says what to do.
    package let message: String

    package init(_ message: String) {
        self.message = message
    }
}
