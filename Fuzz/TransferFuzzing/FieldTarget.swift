import TransferHTTP

/// Input: kind of the value (1 byte), a size or a time (8 bytes), the value.
enum FieldTarget {
    static func run(_ bytes: [UInt8]) throws(Finding) {
        var input = FuzzInput(bytes)
        let (kind, number) = (input.byte(), input.integer(UInt64.self))
        let value = input.rest()
        switch kind % 8 {
        case 0: try check(structured: [value])
        case 1: try check(ranges: value, size: number)
        case 2: try check(date: value, now: HTTPDate(clamping: Int64(bitPattern: number)))
        case 3: try check(tag: value)
        case 4: try check(path: value)
        case 5: try check(uploading: value)
        case 6: read(forwarded: value)
        default: try check(others: value)
        }
    }

    /// A value that was read is written and read as an equal value.
    private static func check(structured lines: [[UInt8]]) throws(Finding) {
        if let item = StructuredField.item(lines) {
            let text = StructuredWriter.text(item)
            try require(
                StructuredField.item([Array((text ?? "").utf8)]) == item, "An item is written as \(text ?? "nothing").")
        }
        if let list = StructuredField.list(lines) {
            let text = StructuredWriter.text(list)
            try require(
                StructuredField.list([Array((text ?? "").utf8)]) == list, "A list is written as \(text ?? "nothing").")
        }
        if let dictionary = StructuredField.dictionary(lines) {
            let text = StructuredWriter.text(dictionary)
            try require(
                StructuredField.dictionary([Array((text ?? "").utf8)]) == dictionary,
                "A dictionary is written as \(text ?? "nothing").")
        }
    }

    private static func check(ranges value: [UInt8], size: UInt64) throws(Finding) {
        guard case .ranges(let ranges)? = ByteRanges(field: value)?.answer(size: size) else { return }
        try require(!ranges.isEmpty && ranges.count <= ByteRanges.mostRanges, "There are \(ranges.count) ranges.")
        try require(
            ranges.allSatisfy { !$0.isEmpty && $0.upperBound <= size }, "A range is empty, or ends beyond \(size).")
    }

    private static func check(date value: [UInt8], now: HTTPDate) throws(Finding) {
        for date in [HTTPDate(value, now: now), now].compactMap(\.self) {
            try require(HTTPDate(date.text.utf8, now: now) == date, "A date is written as \(date.text).")
        }
    }

    private static func check(tag value: [UInt8]) throws(Finding) {
        guard let tag = EntityTag(field: value) else { return }
        try require(EntityTag(field: tag.bytes) == tag, "A tag is written in another way than it is read.")
    }

    /// A path contains no component that leads upwards, and is read again as it was written.
    static func check(path value: [UInt8]) throws(Finding) {
        guard let path = try? RequestPath(value) else { return }
        for segment in path.segments {
            let isPlain = !segment.utf8.isEmpty && !segment.utf8.contains { $0 == 0 || $0 == UInt8(ascii: "/") }
            try require(isPlain && segment != "." && segment != "..", "A segment is \(segment.debugDescription).")
        }
        let text = "/" + PercentEncoding.path(path.path.utf8) + (path.endsInSlash && !path.segments.isEmpty ? "/" : "")
        let again = try? RequestPath(Array(text.utf8))
        try require(again?.segments == path.segments, "A path is written as \(text.debugDescription).")
    }

    private static func check(uploading value: [UInt8]) throws(Finding) {
        let text = String(decoding: value, as: UTF8.self)
        if let metadata = try? UploadMetadata(text) {
            try require(
                (try? UploadMetadata(metadata.text)) == metadata, "Metadata is kept in another way than it is read.")
            for pair in metadata.pairs { _ = try? metadata.string(pair.key) }
        }
        _ = try? UploadConcat(text)
        _ = try? UploadChecksum(text)
        let fields = ["upload-offset", "upload-length", "upload-complete", "upload-incomplete", "tus-resumable"]
            .map { HTTPField(name: $0, value: value) }
        _ = try? UploadNumber.offset(HTTPFields(fields))
        _ = try? UploadNumber.length(HTTPFields(fields))
        for version in Int64(0)...10 { _ = try? UploadComplete.value(HTTPFields(fields), ResumableInterop(version)) }
    }

    private static func read(forwarded value: [UInt8]) {
        let names = ["forwarded", "x-forwarded-for", "x-forwarded-proto", "x-forwarded-host", "retry-after"]
        let fields = HTTPFields(names.map { HTTPField(name: $0, value: value) })
        for style in [Forwarded.Style.standard, .customary] { _ = try? Forwarded.hops(fields, style) }
        _ = RetryAfter(fields)?.seconds(now: 0)
    }

    private static func check(others value: [UInt8]) throws(Finding) {
        if let bytes = Base64Text.decode(value) {
            try require(
                Array(Base64Text.encode(bytes).utf8) == value, "Base64 is written in another way than it is read.")
        }
        if let digest = try? DigestField([value]), digest.sha256 != nil || digest.sha512 != nil {
            let again = try? DigestField([Array(digest.text.utf8)])
            try require(again?.sha256 == digest.sha256 && again?.sha512 == digest.sha512, "A digest: \(digest.text).")
        }
        _ = DigestPreference([value])
        _ = HTTPCredentials.token([value])
        _ = MediaType(value)
        _ = ContentDisposition(value)
        _ = Negotiation.mediaType([value], of: ["text/html", "application/json"])
        _ = Negotiation.language([value])
        if let address = WebAddress(String(decoding: value, as: UTF8.self)) { _ = address.below("folder") }
    }
}
