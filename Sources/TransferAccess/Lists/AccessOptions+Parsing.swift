import TransferModel

extension AccessOptions {
    /// Reads the options of a line. If one of them is unknown, repeated or has an invalid value, the line is refused:
    /// ignoring an option could give more access than was intended.
    ///
    /// - Throws: a phrase about the invalid option.
    package init(_ options: [(name: String, value: String?)]) throws(AccessFault) {
        var seen: Set<String> = []
        for (name, value) in options {
            guard seen.insert(name).inserted else { throw AccessFault("'\(name)' is given twice") }
            try take(name, value)
        }
    }

    private mutating func take(_ name: String, _ value: String?) throws(AccessFault) {
        switch name {
        case "folder": folder = try Self.folder(Self.value(name, value))
        case "quota": quota = try Self.size(name, Self.value(name, value))
        case "max-files": maximumFiles = try Self.count(name, Self.value(name, value))
        case "max-upload": maximumUpload = try Self.size(name, Self.value(name, value))
        case "mail-from": mailFrom = try Self.names(name, value)
        case "expires": expires = try Self.time(Self.value(name, value))
        case "no-remove": try take(.noRemove, name, value)
        case "read-only": try take(.readOnly, name, value)
        case "write-only": try take(.writeOnly, name, value)
        default: throw AccessFault("'\(name.escapedForDisplay)' is not an option")
        }
    }

    private mutating func take(_ rights: AccessRights, _ name: String, _ value: String?) throws(AccessFault) {
        guard value == nil else { throw AccessFault("'\(name)' takes no value") }
        guard self.rights == .readWrite else {
            throw AccessFault("no-remove, read-only and write-only exclude each other")
        }
        self.rights = rights
    }

    private static func value(_ name: String, _ value: String?) throws(AccessFault) -> String {
        guard let value, !value.isEmpty else { throw AccessFault("'\(name)' needs a value") }
        return value
    }

    private static func folder(_ text: String) throws(AccessFault) -> RelativePath {
        try check(folder: text)
        do throws(RelativePath.Fault) {
            return try RelativePath(text)
        } catch {
            throw AccessFault("'\(text.escapedForDisplay)' is not a valid folder: \(error.message)")
        }
    }

    /// Checks whether a list may contain a folder. Lists are displayed unchanged, and the only control character that a
    /// line can contain is a tab in quotes.
    ///
    /// - Throws: a phrase about the fault.
    package static func check(folder text: String) throws(AccessFault) {
        // `escapedForDisplay` doubles backslashes, which is no reason to refuse the folder.
        let plain = String(String.UnicodeScalarView(text.unicodeScalars.filter { $0 != "\\" }))
        guard plain.escapedForDisplay == plain else {
            throw AccessFault("'\(text.escapedForDisplay)' contains characters that cannot be shown")
        }
    }

    /// Reads a list of names. The list may be empty, for a mailbox that accepts no uploads.
    private static func names(_ name: String, _ value: String?) throws(AccessFault) -> [String] {
        guard let value else { throw AccessFault("'\(name)' needs a value") }
        // The value is split by bytes, because in Swift a comma and a combining mark at the beginning of the next name
        // are one other character.
        let isSpace = { (byte: UInt8) in byte == UInt8(ascii: " ") }
        let names = value.utf8.split(separator: UInt8(ascii: ","), omittingEmptySubsequences: false).map { piece in
            String(decoding: piece.drop(while: isSpace).reversed().drop(while: isSpace).reversed(), as: UTF8.self)
        }
        guard !value.isEmpty else { return [] }
        guard names.allSatisfy({ !$0.isEmpty && $0.escapedForDisplay == $0 }) else {
            throw AccessFault("'\(name)' needs names with commas between them")
        }
        return names
    }

    private static func size(_ name: String, _ text: String) throws(AccessFault) -> UInt64 {
        do throws(QuantityFault) {
            return try SizeNotation.bytes(text)
        } catch {
            throw AccessFault("'\(text.escapedForDisplay)' is not a size for '\(name)'")
        }
    }

    private static func count(_ name: String, _ text: String) throws(AccessFault) -> UInt64 {
        guard text.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }), let count = UInt64(text)
        else {
            throw AccessFault("'\(text.escapedForDisplay)' is not a number for '\(name)'")
        }
        return count
    }

    private static func time(_ text: String) throws(AccessFault) -> UTCTime {
        guard let time = UTCTime(text) else {
            throw AccessFault("'\(text.escapedForDisplay)' is not a time in UTC such as 2026-12-31T00:00:00Z")
        }
        return time
    }
}
