package import TransferModel

/// Why a request failed, for programs and for people (RFC 9457).
package struct ProblemDetails: Equatable, Sendable {
    package static let contentType = "application/problem+json"

    /// A URI that names the kind of problem.
    package var type: String
    /// The kind, in a few words that are the same each time.
    package var title: String
    /// The status of the answer: 400 to 599.
    package var status: Int
    /// What it was this time; a sentence.
    package var detail: String?
    /// Members beyond those of the RFC; their keys are of this program and none of the RFC's (section 3.2).
    package var extensions: [(key: String, value: JSONValue)]

    /// - Parameter type: `about:blank` where the status says it all (RFC 9457, section 4.2.1).
    package init(
        type: String = "about:blank", title: String, status: Int, detail: String? = nil,
        extensions: [(key: String, value: JSONValue)] = []
    ) {
        (self.type, self.title, self.status, self.detail, self.extensions) = (type, title, status, detail, extensions)
    }

    /// A fault of a request, under the name of its status.
    package init(_ fault: HTTPFault) {
        self.init(title: HTTPStatus.reason(fault.status) ?? "Error", status: fault.status, detail: fault.message)
    }

    private var line: JSONLine {
        var line: JSONLine = ["type": .string(type), "title": .string(title), "status": .integer(status)]
        if let detail { line.append("detail", .string(detail)) }
        for (key, value) in extensions { line.append(key, value) }
        return line
    }

    /// The content of the answer: JSON, and a line end for those who see it on a terminal.
    package var bytes: [UInt8] { line.terminated }

    package static func == (a: Self, b: Self) -> Bool { a.bytes == b.bytes }
}
