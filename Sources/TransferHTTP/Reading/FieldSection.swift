/// Reads the field lines of a head or of trailers, up to the empty line.
struct FieldSection {
    private let maxFields: Int
    private let maxBytes: Int
    private(set) var fields = HTTPFields()
    private var size: Int
    private var search = LineSearch()

    /// Reads the fields of a head whose first line has `size` bytes, including its line end.
    init(headAfter size: Int) {
        (maxFields, maxBytes, self.size) = (HTTPLimits.fields, HTTPLimits.head, size)
    }

    /// Reads trailers, with their smaller limits.
    init() {
        (maxFields, maxBytes, size) = (HTTPLimits.trailerFields, HTTPLimits.trailers, 0)
    }

    /// Reads the complete lines.
    ///
    /// - Parameter position: beginning of the next line; is moved behind the consumed bytes.
    /// - Returns: whether the empty line was found.
    /// - Throws: 400 for a malformed line, 431 for too many or too long lines.
    mutating func next(in bytes: UnsafeRawBufferPointer, at position: inout Int) throws(HTTPFault) -> Bool {
        while true {
            let limit = min(HTTPLimits.fieldLine, maxBytes)
            switch try search.next(in: bytes, from: position, limit: limit) {
            case .incomplete: return false
            case .tooLong: throw HTTPFault(431, "A field line has more than \(limit) bytes.")
            case .line(let range):
                size += range.count + 2
                guard size <= maxBytes else {
                    throw HTTPFault(431, "The fields have more than \(maxBytes) bytes altogether.")
                }
                position = range.upperBound + 2
                if range.isEmpty { return true }
                try append(UnsafeRawBufferPointer(rebasing: bytes[range]))
            }
        }
    }

    private mutating func append(_ line: UnsafeRawBufferPointer) throws(HTTPFault) {
        guard fields.lines.count < maxFields else {
            throw HTTPFault(431, "There are more than \(maxFields) field lines.")
        }
        fields.append(try Self.field(line))
    }

    /// - Parameter line: the line without its end; not empty.
    private static func field(_ line: UnsafeRawBufferPointer) throws(HTTPFault) -> HTTPField {
        guard let first = line.first, !HTTPCharacter.isBlank(first) else {
            throw HTTPFault(400, "A field is continued on a second line.")
        }
        guard let colon = line.firstIndex(of: UInt8(ascii: ":")) else {
            throw HTTPFault(400, "A field line has no colon.")
        }
        let name = UnsafeRawBufferPointer(rebasing: line[..<colon])
        guard HTTPCharacter.isToken(name) else { throw HTTPFault(400, "The name of a field is not a token.") }
        let value = UnsafeRawBufferPointer(rebasing: line[(colon + 1)...])
        guard value.allSatisfy(HTTPCharacter.isValue) else {
            throw HTTPFault(400, "The value of a field has control characters.")
        }
        return HTTPField(token: name, value: HTTPCharacter.trimmed(value))
    }
}
