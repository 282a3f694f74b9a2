import TransferAccess
import TransferModel

/// Input: links with a NUL after each.
enum LinkTarget {
    /// The characters of links besides letters and digits.
    private static let marks = Set("-._~:/[]%#=,".utf8)

    static func run(_ bytes: [UInt8]) throws(Finding) {
        var input = FuzzInput(bytes)
        for text in input.texts() { try read(text) }
    }

    private static func read(_ text: String) throws(Finding) {
        switch Result(catching: { () throws(TransferLink.Fault) in try TransferLink(text) }) {
        case .success(let link): try check(link)
        case .failure(let fault): try require(shown: fault.description)
        }
    }

    private static func check(_ link: TransferLink) throws(Finding) {
        try require((try? TransferLink(link.text)) == link, "'\(link.text)' is not read again.")
        try require(
            link.text.utf8.allSatisfy { isAlphanumeric($0) || marks.contains($0) }, "'\(link.text)' needs quotes.")
        let address = link.description.utf8.prefix { $0 != UInt8(ascii: "#") }
        let plain = TransferLink(host: link.host, port: link.port, folder: link.folder)
        try require((try? TransferLink(String(Substring(address)))) == plain, "'\(link)' is not its address.")
        try require(link.description.utf8.count <= address.count + "#...".utf8.count, "'\(link)' shows what is secret.")
        try require(link.code?.kind != .token, "'\(link)' has a token in it.")
    }

    private static func isAlphanumeric(_ byte: UInt8) -> Bool {
        let scalar = Unicode.Scalar(byte)
        return scalar.isASCII && (scalar.properties.isAlphabetic || scalar.properties.numericType == .decimal)
    }
}
