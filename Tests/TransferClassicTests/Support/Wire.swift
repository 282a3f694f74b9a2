import TransferClassic
import TransferModel

/// Bytes like those of each framing's programs, made independently from the descriptions.
enum Wire {
    /// - Parameter total: the first number, whether right or wrong.
    static func sized(_ total: Int32, _ type: Int32, _ content: [UInt8] = []) -> [UInt8] {
        little(total) + little(type) + content
    }

    static func sized(_ type: Int32, _ content: [UInt8]) -> [UInt8] {
        sized(Int32(content.count + 8), type, content)
    }

    static func little(_ number: Int32) -> [UInt8] {
        (0..<4).map { UInt8(truncatingIfNeeded: number >> (8 * $0)) }
    }

    /// A buffer of 1,024 bytes with garbage behind the NUL.
    static func text(_ text: String) -> [UInt8] {
        let front = Array(text.utf8.prefix(1024)) + (text.utf8.count < 1024 ? [0] : [])
        return front + [UInt8](repeating: 0xAA, count: 1024 - front.count)
    }

    static func jsonline(_ head: String, _ body: [UInt8] = []) -> [UInt8] { Array(head.utf8) + [13, 10] + body }

    /// A head, pretty-printed as in that framing's programs.
    static func head(_ type: String, _ sender: String, _ target: String, _ size: String) -> String {
        "{\n  \"type\" : \"\(type)\",\n  \"CinentID\" : \"\(sender)\",\n  \"targetID\" : \"\(target)\",\n  \"size\" : \"\(size)\"\n}"
    }

    static func header7(_ function: UInt16, _ body: [UInt8], flag: UInt8 = 0, version: UInt16 = 1) -> [UInt8] {
        [UInt8(version >> 8), UInt8(version & 0xFF), UInt8(function >> 8), UInt8(function & 0xFF), flag]
            + [UInt8(body.count >> 8), UInt8(body.count & 0xFF)] + body
    }

    static func header7(_ function: UInt16, _ json: String) -> [UInt8] { header7(function, Array(json.utf8)) }

    enum Count {
        case bytes, units
    }

    static func tagged37(_ type: Int, _ json: String, counting count: Count = .units) -> [UInt8] {
        let length = count == .bytes ? json.utf8.count : json.utf16.count
        return header37("\(length + 37)", "\(type)") + Array(json.utf8)
    }

    static func header37(_ length: String, _ type: String, padding: String = "00000000000000000") -> [UInt8] {
        let (length, type) = (padded(length), padded(type))
        return Array("V0.1\(length)\(type)\(padding)".utf8)
    }

    private static func padded(_ digits: String) -> String {
        String(repeating: "0", count: max(0, 8 - digits.utf8.count)) + digits
    }
}
