import TransferAccess
import TransferHTTP
import TransferModel
import TransferStore

/// Why a request is not met.
struct HTTPRefusal: Error {
    let status: Int
    let code: ResultCode
    let message: String
    var fields: [(String, String)] = []

    /// What is shown in place of the problem to people who ask with a browser.
    var page: [UInt8]?

    /// Whether the log has it already.
    var isLogged = false

    init(_ status: Int, _ code: ResultCode, _ message: String, _ fields: [(String, String)] = []) {
        (self.status, self.code, self.message, self.fields) = (status, code, message, fields)
    }

    init(_ error: Failure) {
        self.init(error.code.httpStatus, error.code, error.message)
        if status == 503 { fields = [("Retry-After", "5")] }
    }

    init(_ fault: HTTPFault) {
        self.init(fault.status, .malformedFrame, fault.message)
    }

    /// A browser was led here under a name of somebody else (RFC 9110, section 15.5.20).
    static let misdirected = HTTPRefusal(
        421, .forbidden,
        "This server doesn't know itself under that name. Ask for its address, or have it told its name with --advertise."
    )

    /// A client that may not come in is told what it could show (RFC 9110, section 11.6.1).
    init(_ refusal: Refusal) {
        self.init(refusal.code.httpStatus, refusal.code, refusal.message)
        if status == 401 {
            fields = [
                ("WWW-Authenticate", "Basic realm=\"transfer\", charset=\"UTF-8\""),
                ("WWW-Authenticate", "Bearer realm=\"transfer\""),
            ]
        }
        if let after = refusal.retryAfter {
            fields.append(("Retry-After", "\(max(1, after.nanoseconds / 1_000_000_000))"))
        }
    }
}
