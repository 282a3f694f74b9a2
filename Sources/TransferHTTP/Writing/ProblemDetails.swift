package import TransferModel

/// The reason why a request failed, for programs and users (RFC 9457).
package struct ProblemDetails: Equatable, Sendable {
    package static let contentType = "application/problem+json"

    /// A URI that names the kind of problem.
    package var type: String
    /// The kind of problem in a few words, which are always the same for this kind.
    package var title: String
    /// The status of the answer: 400 to 599.
    package var status: Int
    /// A sentence about this occurrence.
    package var detail: String?
    /// Members that this program adds to those of the RFC. Their keys must differ from those (section 3.2).
    package var extensions: [(key: String, value: JSONValue)]

    /// - Parameter type: `about:blank` if the status says enough (RFC 9457, section 4.2.1).
    package init(
        type: String = "about:blank", title: String, status: Int, detail: String? = nil,
        extensions: [(key: String, value: JSONValue)] = []
    ) {
        (self.type, self.title, self.status, self.detail, self.extensions) = (type, title, status, detail, extensions)
    }

    /// Details of a fault, with the standard phrase of the status as title.
    package init(_ fault: HTTPFault) {
        self.init(title: HTTPStatus.reason(fault.status) ?? "Error", status: fault.status, detail: fault.message)
    }

    private var line: JSONLine {
        var line: JSONLine = ["type": .string(type), "title": .string(title), "status": .integer(status)]
        if let detail { line.append("detail", .string(detail)) }
        for (key, value) in extensions { line.append(key, value) }
        return line
    }

    /// The answer's content: JSON with a line end, so that it can be displayed on a terminal.
    package var bytes: [UInt8] { line.terminated }

    package static func == (a: Self, b: Self) -> Bool { a.bytes == b.bytes }
}
