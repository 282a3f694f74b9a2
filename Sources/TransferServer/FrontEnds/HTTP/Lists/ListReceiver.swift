import TransferHTTP
import TransferIntake
import TransferModel

/// Takes a JSON array of objects as the content of a request, and answers it with a line of JSON for each object.
final class ListReceiver: ContentReceiver {
    /// Most objects of a list. A client that has more sends several lists.
    static let mostItems = 1000

    /// Most bytes of a list: each of `mostItems` objects may have a path of some 2 KiB.
    static let mostBytes = 2 << 20

    /// Most members of an object.
    private static let mostMembers = 8

    private let context: HTTPContext
    private let answer: ([ListItem]) throws(HTTPRefusal) -> any HTTPAnswer
    private var content: [UInt8] = []

    /// - Parameter answer: makes the answer to the objects.
    /// - Throws: why the request is refused before its content.
    init(
        _ request: HTTPRequest, _ context: HTTPContext,
        answer: @escaping ([ListItem]) throws(HTTPRefusal) -> any HTTPAnswer
    ) throws(HTTPRefusal) {
        (self.context, self.answer) = (context, answer)
        let (type, encoding) = try request.reading { (fields) throws(HTTPFault) in
            (try fields.only("content-type").flatMap { MediaType($0.utf8) }, fields.values("content-encoding"))
        }
        guard let type, type.essence == "application/json", encoding.isEmpty else {
            throw HTTPRefusal(
                415, .wrongForm, "Send the list as application/json, uncompressed: a JSON array of objects.")
        }
        if case .length(let length) = request.body { try Self.check(length) }
    }

    func write(_ bytes: UnsafeRawBufferPointer) throws(HTTPRefusal) -> ContentProgress {
        try Self.check(UInt64(content.count + bytes.count))
        content += bytes
        return .wantsMore()
    }

    func finish(_ trailers: HTTPFields) throws(HTTPRefusal) -> HTTPResponse {
        // The client may have sent the content slowly, and lost its access meanwhile.
        if let refusal = context.uploads.recheck().refusal { throw HTTPRefusal(refusal) }
        return .long(try answer(try items()))
    }

    func settled(_ settled: EndedUpload) {}

    private static func check(_ size: UInt64) throws(HTTPRefusal) {
        guard size <= UInt64(mostBytes) else {
            throw HTTPRefusal(413, .uploadTooLarge, "A list has at most \(mostBytes) bytes: send several lists.")
        }
    }

    private func items() throws(HTTPRefusal) -> [ListItem] {
        let node: JSONNode
        do throws(JSONFault) {
            node = try JSONReader.read(
                content, deepest: 2, allowsNUL: false, mostValues: 1 + Self.mostItems * (1 + Self.mostMembers))
        } catch {
            throw HTTPRefusal(400, .malformedFrame, "The list cannot be read: \(error.message).")
        }
        content = []
        guard case .array(let nodes) = node else {
            throw HTTPRefusal(400, .malformedFrame, "The list is not a JSON array.")
        }
        guard nodes.count <= Self.mostItems else {
            throw HTTPRefusal(
                413, .uploadTooLarge, "A list has at most \(Self.mostItems) objects: send several lists.")
        }
        var items: [ListItem] = []
        for (index, node) in nodes.enumerated() { items.append(try ListItem(node, number: index + 1)) }
        return items
    }
}

/// An object of a list, whose members are read one by one.
struct ListItem {
    /// Place in the list, from 1.
    private let number: Int
    private let node: JSONNode

    fileprivate init(_ node: JSONNode, number: Int) throws(HTTPRefusal) {
        (self.number, self.node) = (number, node)
        guard case .object = node else { throw fault("is not an object") }
    }

    /// - Parameter names: of the members that the object may have.
    /// - Throws: 400 for another member, so that a misspelt one is not ignored.
    func check(only names: String...) throws(HTTPRefusal) {
        guard case .object(let members) = node else { return }
        for (key, _) in members where !names.contains(where: { $0.hasSameBytes(as: key) }) {
            throw fault("has a member '\(key.escapedForDisplay)', which it cannot have")
        }
    }

    /// - Returns: nil if the object has no such member, or if it is null.
    func text(_ name: String) throws(HTTPRefusal) -> String? {
        switch node[name] {
        case nil, .null?: return nil
        case .string(let text)?: return text
        default: throw fault("has '\(name)', which must be a string")
        }
    }

    /// - Throws: 400 if the object has no such member.
    func requiredText(_ name: String) throws(HTTPRefusal) -> String {
        guard let text = try text(name) else { throw fault("lacks '\(name)'") }
        return text
    }

    /// - Returns: false if the object has no such member, or if it is null.
    func flag(_ name: String) throws(HTTPRefusal) -> Bool {
        switch node[name] {
        case nil, .null?: return false
        case .bool(let flag)?: return flag
        default: throw fault("has '\(name)', which must be true or false")
        }
    }

    /// - Returns: the digits of a number; nil if the object has no such member, or if it is null.
    func number(_ name: String) throws(HTTPRefusal) -> String? {
        switch node[name] {
        case nil, .null?: return nil
        case .number(let digits)?: return digits
        default: throw fault("has '\(name)', which must be a number")
        }
    }

    /// The refusal of a list because of this object.
    ///
    /// - Parameter complaint: a phrase about the object.
    func fault(_ complaint: String) -> HTTPRefusal {
        HTTPRefusal(400, .malformedFrame, "Object \(number) of the list \(complaint). Nothing was done.")
    }
}
